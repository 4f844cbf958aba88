#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/step_validation.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

class PlanValidator {
 public:
  explicit PlanValidator(const ExecutablePlan& plan) : plan_(plan) {}

  absl::Status Run() {
    AITUNE_RETURN_IF_ERROR(CheckInterface());
    AITUNE_RETURN_IF_ERROR(CheckValues());
    AITUNE_RETURN_IF_ERROR(CheckAliases());
    AITUNE_ASSIGN_OR_RETURN(written_, ValidateSteps(plan_, values_));
    return CheckOutputs();
  }

 private:
  int symbol_count() const { return plan_.symbols_size(); }

  absl::Status CheckInterface() {
    for (int i = 0; i < plan_.inputs_size(); ++i) {
      absl::StatusOr<PlanTensorType> type =
          FromProto(plan_.inputs(i), symbol_count());
      if (!type.ok()) return InPlan(absl::StrCat("input ", i), type.status());
      inputs_.push_back(*std::move(type));
    }
    for (int i = 0; i < plan_.outputs_size(); ++i) {
      const TensorTypeProto& output = plan_.outputs(i);
      outputs_.emplace_back();
      if (output.dtype() == 0) {
        if (output.sizes_size() == 0) continue;
        return PlanError("output ", i, " is opaque (dtype 0) but has sizes");
      }
      absl::StatusOr<PlanTensorType> type = FromProto(output, symbol_count());
      if (!type.ok()) return InPlan(absl::StrCat("output ", i), type.status());
      outputs_.back() = *std::move(type);
    }
    for (int i = 0; i < plan_.constraints_size(); ++i) {
      AITUNE_RETURN_IF_ERROR(
          InPlan(absl::StrCat("constraint ", i),
                 FromProto(plan_.constraints(i), symbol_count()).status()));
    }
    for (int i = 0; i < symbol_count(); ++i) {
      const SymbolProto& symbol = plan_.symbols(i);
      const std::string where = absl::StrCat("symbol ", i, " (s", i, ")");
      if (symbol.min() < 0 || symbol.max() < symbol.min()) {
        return PlanError(where, " has the range ", symbol.min(), "..",
                         symbol.max());
      }
      if (symbol.input() < 0 || symbol.input() >= plan_.inputs_size()) {
        return PlanError(where, " is read from input ", symbol.input(),
                         ", but there are ", plan_.inputs_size(), " inputs");
      }
      const PlanTensorType& input = inputs_[symbol.input()];
      if (symbol.axis() < 0 ||
          symbol.axis() >= static_cast<int64_t>(input.sizes.size())) {
        return PlanError(where, " is read from axis ", symbol.axis(),
                         " of input ", symbol.input(), ", whose rank is ",
                         input.sizes.size());
      }
      if (input.sizes[symbol.axis()] != SizeExpression::Symbol(i)) {
        return PlanError(where, " is read from axis ", symbol.axis(),
                         " of input ", symbol.input(), ", whose size is ",
                         input.sizes[symbol.axis()].ToString());
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckValues() {
    output_writers_.assign(plan_.outputs_size(), -1);
    for (int i = 0; i < plan_.values_size(); ++i) {
      const ValueProto& value = plan_.values(i);
      const std::string where = absl::StrCat("value ", i);
      values_.types.emplace_back();
      if (!ValueProto::Storage_IsValid(value.storage())) {
        return PlanError(where, " has the unknown storage ", value.storage());
      }
      if (value.persistent() && value.storage() != ValueProto::ARENA) {
        return PlanError(where, " is persistent, but its storage is ",
                         ValueProto::Storage_Name(value.storage()),
                         " instead of ARENA");
      }
      if (value.packing().kind() != PackingProto::NONE &&
          value.storage() != ValueProto::CONSTANT) {
        return PlanError(where, " has a packing, but is no constant");
      }
      if (value.has_offset() && value.storage() != ValueProto::ALIAS) {
        return PlanError(where, " has an offset, but is no alias");
      }
      if (value.storage() == ValueProto::OPAQUE) continue;
      absl::StatusOr<PlanTensorType> type =
          FromProto(value.type(), symbol_count());
      if (!type.ok()) return InPlan(where, type.status());
      values_.types[i] = *std::move(type);
      AITUNE_RETURN_IF_ERROR(CheckStorage(i, where));
    }
    return absl::OkStatus();
  }

  absl::Status CheckStorage(int i, const std::string& where) {
    const ValueProto& value = plan_.values(i);
    switch (value.storage()) {
      case ValueProto::INPUT:
        if (value.index() < 0 || value.index() >= plan_.inputs_size()) {
          return PlanError(where, " is input ", value.index(),
                           ", but there are ", plan_.inputs_size(), " inputs");
        }
        return CheckSameType(where, "input", value.index(), *values_.types[i],
                             inputs_[value.index()]);
      case ValueProto::OUTPUT:
        if (value.index() < 0 || value.index() >= plan_.outputs_size()) {
          return PlanError(where, " is output ", value.index(),
                           ", but there are ", plan_.outputs_size(),
                           " outputs");
        }
        if (!outputs_[value.index()]) {
          return PlanError(where, " is the tensor of output ", value.index(),
                           ", which is opaque");
        }
        if (output_writers_[value.index()] >= 0) {
          return PlanError(where, " and value ", output_writers_[value.index()],
                           " are both output ", value.index());
        }
        output_writers_[value.index()] = i;
        return CheckSameType(where, "output", value.index(), *values_.types[i],
                             *outputs_[value.index()]);
      case ValueProto::CONSTANT:
        if (value.index() < 0) {
          return PlanError(where, " is constant ", value.index());
        }
        if (!IsStatic(*values_.types[i])) {
          return PlanError(where, " is a constant with a dynamic size");
        }
        if (!PackingProto::Kind_IsValid(value.packing().kind())) {
          return PlanError(where, " has the unknown packing ",
                           value.packing().kind());
        }
        return absl::OkStatus();
      case ValueProto::ARENA:
        if (value.persistent() && !IsStatic(*values_.types[i])) {
          return PlanError(where, " is persistent, but has a dynamic size");
        }
        return absl::OkStatus();
      case ValueProto::ALIAS:
        if (value.index() < 0 || value.index() >= plan_.values_size()) {
          return PlanError(where, " is an alias of value ", value.index(),
                           ", but there are ", plan_.values_size(), " values");
        }
        if (value.has_offset()) {
          const absl::StatusOr<SizeExpression> offset =
              FromProto(value.offset(), symbol_count());
          if (!offset.ok()) return InPlan(where, offset.status());
        }
        return absl::OkStatus();
      default:
        return absl::OkStatus();
    }
  }

  absl::Status CheckAliases() {
    // Follows each chain once: a value is done when its root is known.
    constexpr int32_t kUnknown = -1, kOnThisChain = -2;
    values_.roots.assign(plan_.values_size(), kUnknown);
    values_.is_part.assign(plan_.values_size(), false);
    std::vector<int32_t> chain;
    for (int i = 0; i < plan_.values_size(); ++i) {
      chain.clear();
      int32_t at = i;
      while (values_.roots[at] == kUnknown &&
             plan_.values(at).storage() == ValueProto::ALIAS) {
        values_.roots[at] = kOnThisChain;
        chain.push_back(at);
        at = plan_.values(at).index();
      }
      if (values_.roots[at] == kOnThisChain) {
        return PlanError("value ", at, " is an alias of itself");
      }
      if (values_.roots[at] == kUnknown) values_.roots[at] = at;
      const int32_t root = values_.roots[at];
      const ValueProto& base = plan_.values(root);
      // From the root's end of the chain.
      std::reverse(chain.begin(), chain.end());
      for (int32_t value : chain) {
        const ValueProto& alias = plan_.values(value);
        values_.roots[value] = root;
        values_.is_part[value] =
            alias.has_offset() || values_.is_part[alias.index()];
        if (values_.is_part[value] &&
            (base.storage() == ValueProto::CONSTANT || base.persistent())) {
          return PlanError("value ", value, " is a part of value ", root,
                           ", which is known at load");
        }
        if (base.storage() == ValueProto::OPAQUE) {
          return PlanError("value ", value, " is an alias of value ", root,
                           ", which is opaque");
        }
        if (base.packing().kind() != PackingProto::NONE) {
          return PlanError("value ", value, " is an alias of value ", root,
                           ", which is a packed constant");
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckOutputs() {
    const bool listed = plan_.output_values_size() > 0;
    if (listed && plan_.output_values_size() != plan_.outputs_size()) {
      return PlanError(plan_.output_values_size(),
                       " output values are given for ", plan_.outputs_size(),
                       " outputs");
    }
    for (int i = 0; i < plan_.outputs_size(); ++i) {
      const int32_t value =
          listed ? plan_.output_values(i) : output_writers_[i];
      if (value < 0 || value >= plan_.values_size()) {
        return PlanError("output ", i, " is no value of the plan");
      }
      if (listed && output_writers_[i] >= 0 && output_writers_[i] != value) {
        return PlanError("output ", i, " is value ", value, ", but value ",
                         output_writers_[i], " is stored there");
      }
      const bool opaque =
          plan_.values(values_.roots[value]).storage() == ValueProto::OPAQUE;
      if (opaque != !outputs_[i].has_value()) {
        return PlanError(
            "output ", i, outputs_[i] ? " is a tensor" : " is opaque",
            ", but its value ", value, opaque ? " is opaque" : " is not");
      }
      if (IsPacked(plan_, values_, value)) {
        return PlanError("output ", i, " is value ", value,
                         ", which is packed for a kernel");
      }
      if (!IsReady(plan_, values_, written_, value)) {
        return PlanError("output ", i, " is value ", value,
                         ", which no step writes");
      }
      if (!opaque) {
        AITUNE_RETURN_IF_ERROR(CheckSameType(absl::StrCat("value ", value),
                                             "output", i, *values_.types[value],
                                             *outputs_[i]));
      }
    }
    return absl::OkStatus();
  }

  static bool IsStatic(const PlanTensorType& type) {
    for (const SizeExpression& size : type.sizes) {
      if (!size.constant()) return false;
    }
    return true;
  }

  // Dtype and rank; dynamic sizes are compared when they are known.
  static absl::Status CheckSameType(const std::string& where, const char* what,
                                    int index, const PlanTensorType& value,
                                    const PlanTensorType& expected) {
    if (value.dtype != expected.dtype ||
        value.sizes.size() != expected.sizes.size()) {
      return PlanError(where, " is ", std::string(Name(value.dtype)),
                       " of rank ", value.sizes.size(), ", but ", what, " ",
                       index, " is ", std::string(Name(expected.dtype)),
                       " of rank ", expected.sizes.size());
    }
    return absl::OkStatus();
  }

  const ExecutablePlan& plan_;
  std::vector<PlanTensorType> inputs_;
  std::vector<std::optional<PlanTensorType>> outputs_;  // none: opaque
  ValidValues values_;
  std::vector<int32_t> output_writers_;  // the OUTPUT value of each output
  std::vector<bool> written_;            // whether a step wrote the root
};

}  // namespace

absl::Status ValidatePlan(const ExecutablePlan& plan) {
  return PlanValidator(plan).Run();
}

}  // namespace aitune
