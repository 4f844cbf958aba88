#include "runtime/executable/instance_layout.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/executable/memory_plan.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

// The most bytes of one value: no machine has as much memory, and sums over
// many values do not overflow.
constexpr int64_t kMostBytes = int64_t{1} << 44;

absl::Status InValue(int32_t value, const absl::Status& status) {
  return absl::InvalidArgumentError(
      absl::StrCat("value ", value, " of the plan: ", status.message()));
}

}  // namespace

absl::StatusOr<InstanceLayout> InstanceLayout::Analyze(
    const LoadedPlan& plan, const std::vector<LoadedStep>& steps,
    absl::Span<const int64_t> symbols, bool initialization) {
  InstanceLayout layout;
  const size_t values = plan.values().size();
  for (const LoadedValue& value : plan.values()) {
    layout.roots_.push_back(value.root);
  }
  layout.sizes_.resize(values);
  layout.bytes_.assign(values, -1);
  layout.offsets_.assign(values, 0);
  layout.placements_.resize(values);
  layout.first_.assign(values, -1);
  layout.last_.assign(values, -1);
  layout.in_place_.assign(steps.size(), -1);
  layout.in_place_roots_.assign(steps.size(), {-1, -1});
  layout.scratch_offsets_.assign(steps.size(), 0);
  layout.last_uses_.resize(steps.size());
  std::vector<const Step*> protos;
  for (const LoadedStep& step : steps) protos.push_back(step.proto);
  layout.runs_ = ChooseAlternatives(protos, symbols);
  AITUNE_RETURN_IF_ERROR(layout.EvaluateUsed(plan, steps, symbols));
  layout.FindLifetimes(plan, steps);
  if (!initialization) {
    AITUNE_RETURN_IF_ERROR(layout.PlaceOutputs(plan, symbols));
  }
  layout.FindInPlace(plan, steps);
  return layout;
}

absl::Status InstanceLayout::Evaluate(const LoadedPlan& plan, int32_t value,
                                      absl::Span<const int64_t> symbols) {
  std::vector<int32_t> chain;  // the values from this one to its root
  for (int32_t at = value; bytes_[at] < 0; at = plan.values()[at].index) {
    chain.push_back(at);
    if (plan.values()[at].storage != ValueProto::ALIAS) break;
  }
  for (auto i = chain.rbegin(); i != chain.rend(); ++i) {
    const LoadedValue& evaluated = plan.values()[*i];
    if (evaluated.storage == ValueProto::OPAQUE) continue;
    absl::StatusOr<std::vector<int64_t>> sizes =
        EvaluateSizes(evaluated.type.sizes, symbols);
    if (!sizes.ok()) return InValue(*i, sizes.status());
    const absl::StatusOr<int64_t> bytes =
        TensorBytes(evaluated.type.dtype, *sizes);
    if (!bytes.ok()) return InValue(*i, bytes.status());
    if (*bytes > kMostBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("value ", *i, " of the plan needs ", *bytes, " bytes"));
    }
    sizes_[*i] = *std::move(sizes);
    bytes_[*i] = *bytes;
    if (evaluated.storage == ValueProto::ALIAS)
      AITUNE_RETURN_IF_ERROR(FindOffset(plan, *i, symbols));
  }
  return absl::OkStatus();
}

absl::Status InstanceLayout::FindOffset(const LoadedPlan& plan, int32_t alias,
                                        absl::Span<const int64_t> symbols) {
  const LoadedValue& value = plan.values()[alias];
  const int32_t whole = value.index;
  offsets_[alias] = offsets_[whole];
  if (!value.offset) {
    if (bytes_[alias] == bytes_[whole]) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("value ", alias, " of the plan has ", bytes_[alias],
                     " bytes, but value ", whole, ", whose memory it is, has ",
                     bytes_[whole]));
  }
  if (bytes_[alias] == 0) return absl::OkStatus();
  const absl::StatusOr<int64_t> elements = EvaluateSize(*value.offset, symbols);
  if (!elements.ok()) return InValue(alias, elements.status());
  int64_t offset = 0;
  if (*elements < 0 ||
      __builtin_mul_overflow(*elements, SizeInBytes(value.type.dtype),
                             &offset) ||
      offset > bytes_[whole] - bytes_[alias]) {
    return absl::InvalidArgumentError(
        absl::StrCat("value ", alias, " of the plan has ", bytes_[alias],
                     " bytes from the ", *elements, "th element of value ",
                     whole, ", which has ", bytes_[whole], " bytes"));
  }
  offsets_[alias] += offset;
  return absl::OkStatus();
}

absl::Status InstanceLayout::EvaluateUsed(const LoadedPlan& plan,
                                          const std::vector<LoadedStep>& steps,
                                          absl::Span<const int64_t> symbols) {
  auto use = [&](int32_t i) -> absl::Status {
    const int32_t root = roots_[i];
    AITUNE_RETURN_IF_ERROR(Evaluate(plan, i, symbols));
    Placement& placement = placements_[root];
    const LoadedValue& value = plan.values()[root];
    if (value.storage == ValueProto::INPUT) {
      AITUNE_RETURN_IF_ERROR(CheckInput(plan, root, symbols));
      placement = {Placement::Kind::kInput, value.index, 0};
    } else if (value.storage == ValueProto::OUTPUT) {
      placement = {Placement::Kind::kOutput, value.index, 0};
    } else if (value.storage == ValueProto::CONSTANT || value.persistent) {
      placement = {Placement::Kind::kFixed, 0, 0};
    } else if (value.storage == ValueProto::ARENA && plan.is_lent(root)) {
      placement = {Placement::Kind::kLent, 0, 0};
    } else if (value.storage == ValueProto::ARENA) {
      placement = {Placement::Kind::kArena, 0, 0};
    }
    return absl::OkStatus();
  };
  for (size_t s = 0; s < steps.size(); ++s) {
    if (!runs_[s]) continue;
    for (int32_t value : steps[s].inputs) AITUNE_RETURN_IF_ERROR(use(value));
    for (int32_t value : steps[s].outputs) AITUNE_RETURN_IF_ERROR(use(value));
  }
  if (&steps == &plan.steps()) {
    for (int32_t value : plan.output_values()) {
      AITUNE_RETURN_IF_ERROR(use(value));
    }
  }
  return absl::OkStatus();
}

absl::Status InstanceLayout::CheckInput(
    const LoadedPlan& plan, int32_t value,
    absl::Span<const int64_t> symbols) const {
  const int32_t input = plan.values()[value].index;
  AITUNE_ASSIGN_OR_RETURN(
      const std::vector<int64_t> sizes,
      EvaluateSizes(plan.input_types()[input].sizes, symbols));
  if (sizes == sizes_[value]) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "input ", input, " of the plan has the sizes ", SizesToString(sizes),
      ", but its value ", value, " has ", SizesToString(sizes_[value])));
}

void InstanceLayout::FindLifetimes(const LoadedPlan& plan,
                                   const std::vector<LoadedStep>& steps) {
  for (int32_t s = 0; s < static_cast<int32_t>(steps.size()); ++s) {
    if (!runs_[s]) continue;
    for (int32_t value : steps[s].outputs) {
      first_[roots_[value]] = last_[roots_[value]] = s;
    }
    for (int32_t value : steps[s].inputs) last_[roots_[value]] = s;
  }
  if (&steps == &plan.steps()) {
    for (int32_t value : plan.output_values()) {
      last_[roots_[value]] = static_cast<int32_t>(steps.size());
    }
  }
  for (size_t value = 0; value < roots_.size(); ++value) {
    const int32_t last = last_[value];
    if (plan.values()[value].storage == ValueProto::OPAQUE && last >= 0 &&
        last < static_cast<int32_t>(steps.size())) {
      last_uses_[last].push_back(static_cast<int32_t>(value));
    }
  }
}

absl::Status InstanceLayout::PlaceOutputs(const LoadedPlan& plan,
                                          absl::Span<const int64_t> symbols) {
  for (size_t i = 0; i < plan.output_values().size(); ++i) {
    const int32_t value = plan.output_values()[i], root = roots_[value];
    const LoadedValue& base = plan.values()[root];
    if (base.storage == ValueProto::OPAQUE) continue;
    AITUNE_ASSIGN_OR_RETURN(
        const std::vector<int64_t> sizes,
        EvaluateSizes(plan.output_types()[i].sizes, symbols));
    if (sizes != sizes_[value]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "output ", i, " of the plan has the sizes ", SizesToString(sizes),
          ", but its value ", value, " has ", SizesToString(sizes_[value])));
    }
    const Placement in_output = {Placement::Kind::kOutput,
                                 static_cast<int32_t>(i), 0};
    Placement& placement = placements_[root];
    if (placement.kind == Placement::Kind::kOutput &&
        placement.index == in_output.index) {
      continue;
    }
    if (placement.kind == Placement::Kind::kArena &&
        bytes_[value] == bytes_[root]) {
      placement = in_output;
    } else if (bytes_[value] > 0) {
      copies_.push_back({in_output.index, value, bytes_[value]});
    }
  }
  return absl::OkStatus();
}

void InstanceLayout::FindInPlace(const LoadedPlan& plan,
                                 const std::vector<LoadedStep>& steps) {
  for (size_t s = 0; s < steps.size(); ++s) {
    if (!runs_[s]) continue;
    const LoadedStep& step = steps[s];
    for (const PostOp* op : PostOps(*step.proto)) {
      if (op->kind() != PostOp::ADD) continue;
      const int32_t operand = step.inputs[op->operand()];
      const int32_t output = step.outputs[0];
      const int32_t from = roots_[operand], to = roots_[output];
      const auto reads =
          std::count_if(step.inputs.begin(), step.inputs.end(),
                        [&](int32_t value) { return roots_[value] == from; });
      if (reads != 1 || placements_[from].kind != Placement::Kind::kArena ||
          placements_[to].kind != Placement::Kind::kArena ||
          last_[from] != static_cast<int32_t>(s) ||
          bytes_[operand] != bytes_[from] ||
          sizes_[operand] != sizes_[output] ||
          plan.values()[operand].type.dtype !=
              plan.values()[output].type.dtype) {
        continue;
      }
      in_place_[s] = op->operand();
      in_place_roots_[s] = {from, to};
      break;
    }
  }
}

void InstanceLayout::Place(absl::Span<const int64_t> scratch_bytes) {
  // Values that take over each other's memory are one buffer.
  std::vector<int32_t> buffer(roots_.size());
  std::iota(buffer.begin(), buffer.end(), 0);
  // Steps are in order, so the operand's buffer is final when it is taken.
  for (size_t s = 0; s < in_place_.size(); ++s) {
    if (in_place_[s] < 0) continue;
    const auto [from, to] = in_place_roots_[s];
    buffer[to] = buffer[from];
  }
  std::vector<BufferRequest> requests;
  std::vector<int32_t> request_of(roots_.size(),
                                  -1);  // each buffer's request; -1: none
  for (size_t root = 0; root < roots_.size(); ++root) {
    if (placements_[root].kind != Placement::Kind::kArena) continue;
    int32_t& request = request_of[buffer[root]];
    if (request < 0) {
      request = static_cast<int32_t>(requests.size());
      requests.push_back({bytes_[root], first_[root], last_[root]});
    } else {
      BufferRequest& shared = requests[request];
      shared.first_step = std::min(shared.first_step, first_[root]);
      shared.last_step = std::max(shared.last_step, last_[root]);
    }
  }
  const size_t values = requests.size();
  for (size_t s = 0; s < scratch_bytes.size(); ++s) {
    const int32_t step = static_cast<int32_t>(s);
    requests.push_back({scratch_bytes[s], step, step});
  }
  const MemoryPlan plan = PlanMemory(requests);
  arena_bytes_ = plan.arena_bytes;
  for (size_t root = 0; root < roots_.size(); ++root) {
    if (placements_[root].kind != Placement::Kind::kArena) continue;
    placements_[root].offset = plan.offsets[request_of[buffer[root]]];
  }
  for (size_t s = 0; s < scratch_bytes.size(); ++s) {
    scratch_offsets_[s] = plan.offsets[values + s];
  }
}

absl::Status CheckOutputs(const LoadedPlan& plan, const InstanceLayout& layout,
                          absl::Span<const RegionValue> outputs) {
  const std::vector<int32_t>& values = plan.output_values();
  if (outputs.size() != values.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model gives ", values.size(), " outputs, but ",
                     outputs.size(), " were asked for"));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorView* tensor = std::get_if<TensorView>(&outputs[i]);
    const LoadedValue& value = plan.values()[values[i]];
    if (tensor == nullptr &&
        plan.given_output(values[i]) == static_cast<int32_t>(i))
      continue;
    if ((tensor == nullptr) != (value.storage == ValueProto::OPAQUE)) {
      return absl::InvalidArgumentError(
          absl::StrCat("output ", i,
                       tensor == nullptr ? " is a tensor: give it memory"
                                         : " is opaque: give it no tensor"));
    }
    if (tensor == nullptr) continue;
    const std::vector<int64_t>& sizes = layout.sizes(values[i]);
    if (tensor->dtype != value.type.dtype || tensor->sizes != sizes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "output ", i, ": expected ", std::string(Name(value.type.dtype)),
          SizesToString(sizes), ", got ", std::string(Name(tensor->dtype)),
          SizesToString(tensor->sizes)));
    }
    if (tensor->data == nullptr && ElementCount(sizes) > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("output ", i, ": it has no memory"));
    }
  }
  return absl::OkStatus();
}

}  // namespace aitune
