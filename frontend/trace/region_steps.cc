#include "frontend/trace/region_steps.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/trace/libtorch_operands.h"

namespace aitune::frontend {
namespace {

// Whether operator `index` is one of LibTorch's own that changes none of its
// arguments: neither the elements of a list nor, in place, the sizes of a
// tensor. A program that LibTorch interprets may.
bool LeavesArguments(const RecordedTrace& trace, size_t index) {
  if (index >= trace.schemas.size()) return false;
  const auto& [name, overload] = trace.schemas[index];
  if (!absl::StartsWith(name, "aten::")) return false;
  const auto found = c10::Dispatcher::singleton().findSchema({name, overload});
  if (!found || found->schema().is_vararg()) return false;
  const std::vector<c10::Argument>& arguments = found->schema().arguments();
  return arguments.size() == trace.ops[index].arguments.size() &&
         std::none_of(arguments.begin(), arguments.end(),
                      [](const c10::Argument& argument) {
                        return argument.alias_info() != nullptr &&
                               argument.alias_info()->isWrite();
                      });
}

bool MakesObject(const RecordedTrace& trace, size_t index) {
  if (index >= trace.schemas.size()) return false;
  const auto& [name, overload] = trace.schemas[index];
  const auto found = c10::Dispatcher::singleton().findSchema({name, overload});
  if (!found) return false;
  const std::vector<c10::Argument>& returns = found->schema().returns();
  return std::any_of(returns.begin(), returns.end(),
                     [](const c10::Argument& result) {
                       return result.type()->kind() == c10::TypeKind::ClassType;
                     });
}

// What operator `index` is as one that writes in place, if it can be.
std::optional<c10::OperatorHandle> InPlace(const RecordedTrace& trace,
                                           size_t index) {
  if (index >= trace.schemas.size()) return std::nullopt;
  const auto& [name, overload] = trace.schemas[index];
  if (!WritesSomeElements(name)) return std::nullopt;
  const std::optional<c10::OperatorHandle> found =
      c10::Dispatcher::singleton().findSchema(
          {absl::StrCat(name, "_"), overload});
  if (!found ||
      found->schema().arguments().size() != trace.ops[index].arguments.size())
    return std::nullopt;
  return found;
}

// Whether all bytes of the elements are 0.
bool IsZero(const TensorView& view) {
  const auto* const bytes = static_cast<const char*>(view.data);
  const int64_t count = BytesOf(view);
  return bytes != nullptr && count > 0 && bytes[0] == 0 &&
         std::memcmp(bytes, bytes + 1, static_cast<size_t>(count) - 1) == 0;
}

class StepMaker {
 public:
  explicit StepMaker(const RecordedTrace& trace) : trace_(trace) {}

  RegionSteps Make(const std::vector<int>& op_indices,
                   const std::vector<ValueId>& inputs,
                   const std::vector<ValueId>& outputs) {
    std::vector<ValueId> read = outputs;
    for (const int index : op_indices) {
      for (const ArgumentTemplate& argument : Op(index).arguments)
        CollectValues(argument, read);
    }
    read_.insert(read.begin(), read.end());
    for (const ValueId input : inputs)
      made_.input_slots.push_back(SlotFor(input));
    for (const int index : op_indices) {
      leaves_arguments_ = LeavesArguments(trace_, static_cast<size_t>(index));
      RegionStep& step = made_.steps.emplace_back();
      step.op = &Op(index);
      step.makes_object = MakesObject(trace_, static_cast<size_t>(index));
      for (const ArgumentTemplate& argument : step.op->arguments)
        step.arguments.push_back(Resolve(argument));
      for (const ResultTemplate& result : step.op->results)
        step.results.push_back(Place(result));
    }
    for (const ValueId output : outputs) {
      const auto found = slots_.find(output);
      made_.output_slots.push_back(found == slots_.end() ? -1 : found->second);
    }
    MarkLastUses();
    MarkInPlace(op_indices);
    return std::move(made_);
  }

 private:
  const RecordedOp& Op(int index) const {
    return trace_.ops[static_cast<size_t>(index)];
  }

  // The slot for a value that is given or computed; -1 if nobody reads it.
  int SlotFor(ValueId id) {
    if (id < 0 || read_.count(id) == 0) return -1;
    const auto [slot, is_new] = slots_.emplace(id, made_.slot_count);
    if (is_new) ++made_.slot_count;
    return slot->second;
  }

  int ConstantFor(const TraceValue& value) {
    const auto [number, is_new] = constants_.emplace(
        value.constant, static_cast<int>(made_.constants.size()));
    if (is_new) made_.constants.push_back({value.constant, value.is_number});
    return number->second;
  }

  RegionArgument Resolve(const ArgumentTemplate& recipe) {
    RegionArgument argument;
    argument.recipe = &recipe;
    for (const ArgumentTemplate& child : recipe.children)
      argument.children.push_back(Resolve(child));
    switch (recipe.kind) {
      case ArgumentTemplate::Kind::kFixed:
        argument.fixed = recipe.fixed;
        break;
      case ArgumentTemplate::Kind::kValue:
        ResolveValue(recipe.value, argument);
        break;
      case ArgumentTemplate::Kind::kSize:
        argument.kind = RegionArgument::Kind::kSize;
        break;
      case ArgumentTemplate::Kind::kList:
      case ArgumentTemplate::Kind::kTuple:
      case ArgumentTemplate::Kind::kDict:
        argument.kind = RegionArgument::Kind::kContainer;
        // Programs may change their lists: these are made anew in each call.
        if (!leaves_arguments_ || !AreFixed(recipe.children)) break;
        argument.kind = RegionArgument::Kind::kFixed;
        argument.fixed = Materialize(recipe, {}, nullptr);
        argument.children.clear();
        break;
    }
    return argument;
  }

  static bool AreFixed(const std::vector<ArgumentTemplate>& recipes) {
    return std::all_of(recipes.begin(), recipes.end(),
                       [](const ArgumentTemplate& recipe) {
                         return recipe.kind == ArgumentTemplate::Kind::kFixed;
                       });
  }

  void ResolveValue(ValueId id, RegionArgument& argument) {
    if (const auto found = slots_.find(id); found != slots_.end()) {
      argument.kind = RegionArgument::Kind::kSlot;
      argument.slot = found->second;
      return;
    }
    argument.kind = RegionArgument::Kind::kOutside;
    if (id < 0) return;
    const TraceValue& value = trace_.values[static_cast<size_t>(id)];
    if (value.kind != TraceValue::Kind::kConstant) return;
    argument.kind = RegionArgument::Kind::kConstant;
    argument.constant = ConstantFor(value);
    argument.is_made_anew = !leaves_arguments_;
  }

  RegionResult Place(const ResultTemplate& result) {
    RegionResult placed;
    placed.is_container = result.kind == ResultTemplate::Kind::kContainer;
    if (!placed.is_container) placed.slot = SlotFor(result.value);
    for (const ResultTemplate& child : result.children)
      placed.children.push_back(Place(child));
    return placed;
  }

  void MarkInPlace(const std::vector<int>& op_indices) {
    std::unordered_set<int> filled;  // slots of tensors that steps have made
    for (size_t i = 0; i < op_indices.size(); ++i) {
      const auto index = static_cast<size_t>(op_indices[i]);
      RegionStep& step = made_.steps[i];
      if (!step.arguments.empty() && step.arguments[0].is_last_use &&
          filled.count(step.arguments[0].slot) > 0)
        step.in_place = InPlace(trace_, index);
      if (!step.arguments.empty() &&
          step.arguments[0].kind == RegionArgument::Kind::kConstant &&
          WritesSomeElements(SchemaOf(index))) {
        const RegionConstant& constant =
            made_.constants[static_cast<size_t>(step.arguments[0].constant)];
        step.writes_zeros =
            IsZero(trace_.constants[static_cast<size_t>(constant.index)].view);
        if (step.writes_zeros) step.in_place = InPlace(trace_, index);
      }
      if (step.results.size() == 1 &&
          (step.in_place || FillsTensor(SchemaOf(index))))
        filled.insert(step.results[0].slot);
    }
  }

  // The name of operator `index`; empty if it is none of LibTorch's.
  absl::string_view SchemaOf(size_t index) const {
    return index < trace_.schemas.size() ? trace_.schemas[index].first
                                         : absl::string_view();
  }

  // Backwards, in the opposite of the order in which a call reads arguments.
  void MarkLastUses() {
    read_later_.assign(static_cast<size_t>(made_.slot_count), false);
    for (const int slot : made_.output_slots) {
      if (slot >= 0) read_later_[static_cast<size_t>(slot)] = true;
    }
    for (size_t i = made_.steps.size(); i-- > 0;)
      MarkLastUses(made_.steps[i].arguments);
  }

  void MarkLastUses(std::vector<RegionArgument>& arguments) {
    for (size_t i = arguments.size(); i-- > 0;) {
      RegionArgument& argument = arguments[i];
      MarkLastUses(argument.children);
      if (argument.kind != RegionArgument::Kind::kSlot) continue;
      const auto slot = static_cast<size_t>(argument.slot);
      argument.is_last_use = !read_later_[slot];
      read_later_[slot] = true;
    }
  }

  const RecordedTrace& trace_;
  RegionSteps made_;
  std::unordered_set<ValueId> read_;        // by an operator or as an output
  std::unordered_map<ValueId, int> slots_;  // of the values that exist so far
  std::unordered_map<int, int> constants_;  // numbers, by index in the trace
  bool leaves_arguments_ = false;           // of the operator at hand
  std::vector<bool> read_later_;            // by slot
};

}  // namespace

RegionSteps MakeRegionSteps(const RecordedTrace& trace,
                            const std::vector<int>& op_indices,
                            const std::vector<ValueId>& inputs,
                            const std::vector<ValueId>& outputs) {
  return StepMaker(trace).Make(op_indices, inputs, outputs);
}

}  // namespace aitune::frontend
