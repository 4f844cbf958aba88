#include "frontend/compiled_model/compile/libtorch_parts.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/trace/argument_values.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// Constants from this size on are weights: what is smaller stays in a GPU's
// cache.
constexpr int64_t kWeightElements = 4096;

}  // namespace

LibTorchParts::LibTorchParts(const Trace& trace, bool on_gpu)
    : trace_(trace),
      on_gpu_(on_gpu),
      producers_(trace.values.size(), -1),
      reads_(trace.ops.size()),
      users_(trace.values.size()),
      is_output_(trace.values.size(), false) {
  for (size_t op = 0; op < trace.ops.size(); ++op) {
    const int index = static_cast<int>(op);
    for (const Argument& argument : trace.ops[op].arguments) {
      ForEachValue(argument, [&](ValueId id) {
        if (std::count(reads_[op].begin(), reads_[op].end(), id) > 0) return;
        reads_[op].push_back(id);
        users_[static_cast<size_t>(id)].push_back(index);
      });
    }
    for (const ValueId id : trace.ops[op].results)
      if (id >= 0) producers_[static_cast<size_t>(id)] = index;
  }
  for (const ValueId id : trace.outputs)
    if (id >= 0) is_output_[static_cast<size_t>(id)] = true;
}

void LibTorchParts::Close(std::set<int>& ops) const {
  const int first = *ops.begin(), last = *ops.rbegin();
  // By distance from `first`: whether the call depends on one of `ops`.
  std::vector<bool> depends(static_cast<size_t>(last - first + 1), false);
  for (int op = first; op <= last; ++op) {
    bool found = ops.count(op) > 0;
    for (const ValueId id : reads_[static_cast<size_t>(op)]) {
      const int producer = producers_[static_cast<size_t>(id)];
      found |=
          producer >= first && depends[static_cast<size_t>(producer - first)];
    }
    depends[static_cast<size_t>(op - first)] = found;
  }
  // Backwards: of those, the ones that one of `ops` depends on.
  for (int op = last; op >= first; --op) {
    if (!depends[static_cast<size_t>(op - first)] || ops.count(op) > 0)
      continue;
    for (const ValueId id : trace_.ops[static_cast<size_t>(op)].results) {
      if (id < 0) continue;
      for (const int user : users_[static_cast<size_t>(id)])
        if (ops.count(user) > 0) ops.insert(op);
    }
  }
}

bool LibTorchParts::IsReadOnlyBy(ValueId value,
                                 const std::set<int>& ops) const {
  const std::vector<int>& users = users_[static_cast<size_t>(value)];
  return !is_output_[static_cast<size_t>(value)] &&
         std::all_of(users.begin(), users.end(),
                     [&](int user) { return ops.count(user) > 0; });
}

bool LibTorchParts::IsView(int op) const {
  const TraceOp& call = trace_.ops[static_cast<size_t>(op)];
  if (!call.must_fall_back.empty() || call.results.size() != 1 ||
      call.results[0] < 0 || reads_[static_cast<size_t>(op)].size() != 1)
    return false;
  const auto found =
      c10::Dispatcher::singleton().findSchema({call.name, call.overload});
  if (!found || found->schema().returns().size() != 1) return false;
  const c10::AliasInfo* alias = found->schema().returns()[0].alias_info();
  return alias != nullptr && !alias->isWrite();
}

bool LibTorchParts::KeepsElementCount(int op) const {
  std::vector<int64_t> symbols;
  for (const TraceSymbol& symbol : trace_.symbols)
    symbols.push_back(symbol.max);
  const auto count = [&](ValueId id) {
    double elements = 1;
    for (const SizeExpression& size :
         trace_.values[static_cast<size_t>(id)].type.sizes)
      elements *= static_cast<double>(size.Evaluate(symbols));
    return elements;
  };
  return count(reads_[static_cast<size_t>(op)][0]) ==
         count(trace_.ops[static_cast<size_t>(op)].results[0]);
}

void LibTorchParts::AddViews(std::set<int>& ops,
                             const std::set<int64_t>& others) const {
  std::vector<int> open(ops.begin(), ops.end());
  const auto add = [&](int op) {
    if (others.count(op) == 0 && ops.insert(op).second) open.push_back(op);
  };
  while (!open.empty()) {
    const int op = open.back();
    open.pop_back();
    for (const ValueId id : reads_[static_cast<size_t>(op)]) {
      const int producer = producers_[static_cast<size_t>(id)];
      if (producer >= 0 && IsView(producer) && IsReadOnlyBy(id, ops))
        add(producer);
    }
    for (const ValueId id : trace_.ops[static_cast<size_t>(op)].results) {
      if (id < 0 || is_output_[static_cast<size_t>(id)]) continue;
      const std::vector<int>& users = users_[static_cast<size_t>(id)];
      if (users.size() == 1 && IsView(users[0]) && KeepsElementCount(users[0]))
        add(users[0]);
    }
  }
}

absl::Status LibTorchParts::CheckTensor(ValueId value, bool is_input) const {
  const TraceValue& described = trace_.values[static_cast<size_t>(value)];
  if (described.kind == TraceValue::Kind::kOpaque)
    return absl::UnimplementedError(absl::StrCat(
        "it reads or gives what is no tensor: ", described.why_opaque));
  // An index out of range would end the use of the GPU.
  const DataType dtype = described.type.dtype;
  if (is_input && on_gpu_ && !IsFloatingPoint(dtype) &&
      dtype != DataType::kBool)
    return absl::UnimplementedError(
        "it reads integers, which cannot be made up for a GPU");
  return absl::OkStatus();
}

absl::StatusOr<LibTorchPart> LibTorchParts::Make(
    absl::Span<const int64_t> ops, const std::set<int64_t>& others) const {
  std::set<int> inside(ops.begin(), ops.end());
  if (inside.empty())
    return absl::UnimplementedError("no call of the trace is known of it");
  Close(inside);
  AddViews(inside, others);
  LibTorchPart part;
  std::vector<int> order(inside.begin(), inside.end());
  std::vector<ValueId> inputs, outputs;
  std::string names;
  for (const int op : order) {
    const TraceOp& call = trace_.ops[static_cast<size_t>(op)];
    if (others.count(op) > 0 || !call.must_fall_back.empty())
      return absl::UnimplementedError(absl::StrCat(
          call.name, " is between its operators, and no part of it"));
    absl::StrAppend(&names, names.empty() ? "" : ", ", call.name);
    part.traceOps.push_back(op);
    for (const ValueId id : reads_[static_cast<size_t>(op)]) {
      const TraceValue& value = trace_.values[static_cast<size_t>(id)];
      const int producer = producers_[static_cast<size_t>(id)];
      if (inside.count(producer) > 0 ||
          std::count(inputs.begin(), inputs.end(), id) > 0)
        continue;
      if (value.kind == TraceValue::Kind::kConstant) {
        const TensorView& view =
            trace_.constants[static_cast<size_t>(value.constant)].view;
        if (!on_gpu_ || !IsFloatingPoint(view.dtype) ||
            ElementCount(view.sizes) < kWeightElements)
          continue;
        part.weights.insert(static_cast<int>(inputs.size()));
      }
      AITUNE_RETURN_IF_ERROR(CheckTensor(id, /*is_input=*/true));
      inputs.push_back(id);
    }
    for (const ValueId id : call.results) {
      if (id < 0 || IsReadOnlyBy(id, inside)) continue;
      AITUNE_RETURN_IF_ERROR(CheckTensor(id, /*is_input=*/false));
      outputs.push_back(id);
    }
  }
  if (outputs.empty())
    return absl::UnimplementedError("nothing reads what it computes");

  ExecutablePlan& plan = part.plan;
  for (const TraceSymbol& symbol : trace_.symbols) {
    SymbolProto& proto = *plan.add_symbols();
    proto.set_name(symbol.name);
    proto.set_min(symbol.min);
    proto.set_max(symbol.max);
    proto.set_typical(symbol.typical);
  }
  Step& step = *plan.add_steps();
  step.set_name("libtorch");
  step.set_kind("fallback");
  step.set_implementation("libtorch");
  step.mutable_fallback()->set_region(0);
  step.mutable_fallback()->set_operator_(names);
  const auto add = [&](ValueId id, ValueProto::Storage storage, int index) {
    const TensorType& type = trace_.values[static_cast<size_t>(id)].type;
    ValueProto& value = *plan.add_values();
    value.set_storage(storage);
    value.set_index(index);
    *value.mutable_type() = ToProto(PlanTensorType{type.dtype, type.sizes});
    return value.type();
  };
  for (const ValueId id : inputs) {
    step.add_inputs(plan.values_size());
    *plan.add_inputs() = add(id, ValueProto::INPUT, plan.inputs_size());
  }
  for (const ValueId id : outputs) {
    step.add_outputs(plan.values_size());
    plan.add_output_values(plan.values_size());
    *plan.add_outputs() = add(id, ValueProto::OUTPUT, plan.outputs_size());
  }
  part.makeRegion = [this, order = std::move(order), inputs = std::move(inputs),
                     outputs = std::move(outputs)] {
    return trace_.make_fallback_region(order, inputs, outputs);
  };
  return part;
}

}  // namespace aitune::frontend
