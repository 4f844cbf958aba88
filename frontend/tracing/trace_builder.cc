#include "frontend/tracing/trace_builder.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <memory>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

void FlattenInto(const ResultTemplate& result, std::vector<ValueId>& values) {
  if (result.kind == ResultTemplate::Kind::kValue)
    values.push_back(result.value);
  for (const ResultTemplate& child : result.children)
    FlattenInto(child, values);
}

void CollectRead(const Argument& argument, std::vector<ValueId>& values) {
  if (const auto* value = std::get_if<ValueId>(&argument))
    values.push_back(*value);
  if (const auto* list = std::get_if<std::vector<ValueId>>(&argument)) {
    for (const ValueId value : *list) {
      if (value >= 0) values.push_back(value);
    }
  }
}

// Has an operator read passed[id] in place of each value `id`.
class Replacement {
 public:
  explicit Replacement(const std::unordered_map<ValueId, ValueId>& passed)
      : passed_(passed) {}

  void In(TraceOp& op, RecordedOp& recorded) const {
    if (passed_.empty()) return;
    for (Argument& argument : op.arguments) {
      if (auto* value = std::get_if<ValueId>(&argument)) In(*value);
      if (auto* list = std::get_if<std::vector<ValueId>>(&argument)) {
        for (ValueId& value : *list) In(value);
      }
    }
    for (ArgumentTemplate& argument : recorded.arguments) In(argument);
  }

 private:
  void In(ArgumentTemplate& argument) const {
    if (argument.kind == ArgumentTemplate::Kind::kValue) In(argument.value);
    for (ArgumentTemplate& child : argument.children) In(child);
  }
  void In(ValueId& value) const {
    for (auto found = passed_.find(value); found != passed_.end();
         found = passed_.find(value))
      value = found->second;
  }

  const std::unordered_map<ValueId, ValueId>& passed_;
};

// Whether compiled code of an operator with results of this dtype may find an
// error in the elements of its arguments.
bool ChecksElements(const std::string& name, DataType dtype) {
  static const auto* const kIndexing = new std::unordered_set<std::string>{
      "aten::embedding", "aten::embedding_bag",  "aten::index",
      "aten::take",      "aten::index_select",   "aten::gather",
      "aten::index_put", "aten::take_along_dim", "aten::scatter",
      "aten::index_add", "aten::scatter_add",    "aten::scatter_reduce",
      "aten::one_hot",   "aten::index_copy",     "aten::index_fill"};
  static const auto* const kDivisions = new std::unordered_set<std::string>{
      "aten::div", "aten::floor_divide", "aten::remainder", "aten::fmod"};
  return kIndexing->count(name) > 0 ||
         (kDivisions->count(name) > 0 && !IsFloatingPoint(dtype));
}

}  // namespace

std::vector<ValueId> Flatten(const std::vector<ResultTemplate>& results) {
  std::vector<ValueId> values;
  for (const ResultTemplate& result : results) FlattenInto(result, values);
  return values;
}

bool TraceBuilder::ConstantKey::operator<(const ConstantKey& other) const {
  return std::tie(storage, offset, sizes, strides, dtype) <
         std::tie(other.storage, other.offset, other.sizes, other.strides,
                  other.dtype);
}

ValueId TraceBuilder::AddTensor(TensorType type) {
  TraceValue value;
  value.type = std::move(type);
  trace_.values.push_back(std::move(value));
  return static_cast<ValueId>(trace_.values.size() - 1);
}

ValueId TraceBuilder::AddOpaque(std::string why) {
  TraceValue value;
  value.kind = TraceValue::Kind::kOpaque;
  value.why_opaque = std::move(why);
  trace_.values.push_back(std::move(value));
  return static_cast<ValueId>(trace_.values.size() - 1);
}

ValueId TraceBuilder::AddConstant(const at::Tensor& tensor,
                                  const std::string& name) {
  const ConstantKey key = {tensor.storage().unsafeGetStorageImpl(),
                           tensor.storage_offset(), tensor.sizes().vec(),
                           tensor.strides().vec(),
                           static_cast<int>(tensor.scalar_type())};
  if (const auto found = constants_.find(key); found != constants_.end())
    return found->second;
  // The original is kept beside a dense copy: its address is the key.
  struct Owner {
    at::Tensor original, dense;
  };
  auto owner = std::make_shared<Owner>(Owner{tensor, tensor.contiguous()});
  ConstantTensor constant;
  constant.view = ViewOf(owner->dense);
  constant.owner = owner;
  constant.name = name;
  TraceValue value;
  value.kind = TraceValue::Kind::kConstant;
  value.type.dtype = constant.view.dtype;
  value.type.sizes.assign(constant.view.sizes.begin(),
                          constant.view.sizes.end());
  value.constant = static_cast<int32_t>(trace_.constants.size());
  value.is_number = tensor.unsafeGetTensorImpl()->is_wrapped_number();
  trace_.constants.push_back(std::move(constant));
  trace_.values.push_back(std::move(value));
  const ValueId id = static_cast<ValueId>(trace_.values.size() - 1);
  constants_.emplace(key, id);
  return id;
}

void TraceBuilder::PreserveConstants(const at::Tensor& tensor) {
  const void* storage = tensor.storage().unsafeGetStorageImpl();
  for (auto entry = constants_.begin(); entry != constants_.end();) {
    if (entry->first.storage != storage) {
      ++entry;
      continue;
    }
    ConstantTensor& constant =
        trace_.constants[static_cast<size_t>(value(entry->second).constant)];
    auto copy = std::make_shared<at::Tensor>(TensorOn(constant.view).clone());
    constant.view = ViewOf(*copy);
    constant.owner = copy;
    entry = constants_.erase(entry);
  }
}

void TraceBuilder::Append(TraceOp op, RecordedOp recorded,
                          bool has_side_effects) {
  op.location = site_.location;
  op.scope = site_.scope;
  if (site_.disabled && op.must_fall_back.empty())
    op.must_fall_back = kDisabled;
  recorded.name =
      absl::StrCat(op.name, op.overload.empty() ? "" : ".", op.overload,
                   op.location.empty() ? "" : " at ", op.location);
  op.results = Flatten(recorded.results);
  if (op.must_fall_back.empty() && op.results.size() == 1 &&
      op.results[0] >= 0 &&
      value(op.results[0]).kind == TraceValue::Kind::kTensor &&
      ChecksElements(op.name, value(op.results[0]).type.dtype))
    checked_.push_back(op.results[0]);
  trace_.ops.push_back(std::move(op));
  recorded_.push_back(std::move(recorded));
  side_effects_.push_back(has_side_effects);
}

void TraceBuilder::AddCall(Call call, std::vector<ResultTemplate> results) {
  TraceOp op;
  op.name = call.schema->name();
  op.overload = call.schema->overload_name();
  op.must_fall_back = std::move(call.must_fall_back);
  const std::vector<c10::Argument>& declarations = call.schema->arguments();
  std::string unrepresented;
  for (size_t i = 0; i < declarations.size() && i < call.arguments.size();
       ++i) {
    std::optional<Argument> argument =
        ToArgument(call.arguments[i], declarations[i]);
    if (!argument) {
      unrepresented = declarations[i].name();
      break;
    }
    op.argument_names.push_back(declarations[i].name());
    op.arguments.push_back(*std::move(argument));
  }
  if (!unrepresented.empty()) {
    if (op.must_fall_back.empty()) {
      op.must_fall_back =
          absl::StrCat("its argument \"", unrepresented,
                       "\" is of a type that compiled code has not");
    }
    std::vector<ValueId> values;
    for (const ArgumentTemplate& argument : call.arguments)
      CollectValues(argument, values);
    op.argument_names = {"values"};
    op.arguments = {std::move(values)};
  }
  RecordedOp recorded;
  recorded.program.run = std::move(call.run);
  recorded.arguments = std::move(call.arguments);
  recorded.results = std::move(results);
  Append(std::move(op), std::move(recorded), /*has_side_effects=*/false);
}

void TraceBuilder::AddRegion(const std::string& name, RecordedProgram program,
                             std::vector<ArgumentTemplate> arguments,
                             std::vector<ResultTemplate> results,
                             std::string must_fall_back, bool has_side_effects,
                             std::vector<ValueId> linear_weights) {
  TraceOp op;
  op.name = name;
  op.must_fall_back = std::move(must_fall_back);
  std::vector<ValueId> values;
  for (const ArgumentTemplate& argument : arguments)
    CollectValues(argument, values);
  op.argument_names = {"values"};
  op.arguments = {std::move(values)};
  if (!linear_weights.empty()) {
    op.argument_names.emplace_back("linear_weights");
    op.arguments.emplace_back(std::move(linear_weights));
  }
  RecordedOp recorded;
  recorded.program = std::move(program);
  recorded.arguments = std::move(arguments);
  recorded.results = std::move(results);
  Append(std::move(op), std::move(recorded), has_side_effects);
}

ValueId TraceBuilder::AddFunctionalCall(const std::string& name,
                                        const std::string& overload,
                                        std::vector<ArgumentTemplate> arguments,
                                        const TensorType& type) {
  const c10::OperatorHandle handle =
      c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(),
                                                     overload.c_str());
  Call call;
  call.schema = &handle.schema();
  call.run = [handle](std::vector<c10::IValue>& stack) {
    handle.callBoxed(stack);
  };
  const std::vector<c10::Argument>& declarations = handle.schema().arguments();
  for (size_t i = arguments.size(); i < declarations.size(); ++i) {
    arguments.push_back(ArgumentTemplate::Fixed(
        declarations[i].default_value().value_or(c10::IValue())));
  }
  call.arguments = std::move(arguments);
  const ValueId result = AddTensor(type);
  ResultTemplate results;
  results.value = result;
  AddCall(std::move(call), {results});
  return result;
}

std::vector<ValueId> TraceBuilder::TakeCheckedValues() {
  return std::exchange(checked_, {});
}

std::pair<Trace, std::vector<RecordedOp>> TraceBuilder::Finish() {
  std::vector<bool> live(trace_.values.size(), false);
  for (const ValueId output : trace_.outputs)
    live[static_cast<size_t>(output)] = true;
  std::vector<bool> kept(trace_.ops.size(), false);
  std::unordered_map<ValueId, ValueId> passed;
  for (size_t i = trace_.ops.size(); i-- > 0;) {
    bool needed = side_effects_[i];
    // A read that nobody needs only passes the model's tensor on.
    const std::vector<ValueId>& given = trace_.ops[i].results;
    if (recorded_[i].program.lends_memory != nullptr && given.size() == 2 &&
        !live[static_cast<size_t>(given[0])]) {
      const ValueId state = recorded_[i].arguments[0].value;
      passed.emplace(given[1], state);
      if (live[static_cast<size_t>(given[1])])
        live[static_cast<size_t>(state)] = true;
      continue;
    }
    for (const ValueId result : trace_.ops[i].results)
      needed |= result >= 0 && live[static_cast<size_t>(result)];
    if (!needed) continue;
    kept[i] = true;
    std::vector<ValueId> read;
    for (const Argument& argument : trace_.ops[i].arguments)
      CollectRead(argument, read);
    for (const ValueId value : read) live[static_cast<size_t>(value)] = true;
  }
  const Replacement replacement(passed);
  size_t next = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) continue;
    replacement.In(trace_.ops[i], recorded_[i]);
    if (next != i) {
      trace_.ops[next] = std::move(trace_.ops[i]);
      recorded_[next] = std::move(recorded_[i]);
    }
    ++next;
  }
  trace_.ops.resize(next);
  recorded_.resize(next);
  return {std::move(trace_), std::move(recorded_)};
}

}  // namespace aitune::frontend
