// The methods of lists and dicts.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/shared_memory.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Kind = ProbedValue::Kind;

ProbedRef MakeList(std::vector<ProbedRef> elements, c10::TypePtr type) {
  return MakeContainer(Kind::kList, std::move(elements), std::move(type));
}

// dict([(key, value), ...]).
absl::StatusOr<std::optional<std::vector<ProbedRef>>> DictOfPairs(
    const ProbedValue& list, const torch::jit::Node& node) {
  auto dict = std::make_shared<ProbedValue>();
  dict->kind = Kind::kDict;
  dict->type_hint = node.output()->type();
  for (const ProbedRef& pair : list.elements) {
    if (pair->kind != Kind::kTuple || pair->elements.size() != 2 ||
        pair->elements[0]->kind != Kind::kPlain || !pair->elements[0]->uniform)
      return absl::UnimplementedError(
          "a dict whose keys are not known without data");
    SetKey(*dict, pair->elements[0]->probes[0], pair->elements[1]);
  }
  return std::vector<ProbedRef>{std::move(dict)};
}

// kUnimplemented where an operator writes `self` and others would see it that
// are not known. The next call finds it changed.
absl::Status CheckMayChange(const c10::FunctionSchema& schema,
                            const ProbedValue& self) {
  const c10::AliasInfo* const alias = schema.arguments()[0].alias_info();
  if (alias == nullptr || !alias->isWrite()) return absl::OkStatus();
  if (self.kept_by_module)
    return absl::UnimplementedError(absl::StrCat(
        schema.name(), " changes a list or dict that the model keeps"));
  if (self.may_share_memory)
    return absl::UnimplementedError(absl::StrCat(
        schema.name(),
        " changes a list or dict that another name may denote, by data"));
  return absl::OkStatus();
}

// list + added.
Invocation JoinedLists(const ProbedRef& list, const ProbedRef& added) {
  const std::shared_ptr<torch::jit::Operator> joins =
      torch::jit::findOperatorFor({"aten::add", "t"});
  Invocation call;
  call.schema = &joins->schema();
  call.run = RecordedFunction(joins->getOperation());
  call.arguments = {list, added};
  call.result_count = 1;
  return call;
}

void EraseAt(std::vector<ProbedRef>& elements, size_t position) {
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(position));
}

// Elements `start`, `start` + `step`, ... before `stop`; bounds below 0 count
// from the end.
std::vector<ProbedRef> Sliced(const std::vector<ProbedRef>& elements,
                              int64_t start, int64_t stop, int64_t step) {
  const int64_t size = static_cast<int64_t>(elements.size());
  const auto clip = [&](int64_t at) {
    if (at < 0) at += size;
    return step > 0 ? std::clamp<int64_t>(at, 0, size)
                    : std::clamp<int64_t>(at, -1, size - 1);
  };
  std::vector<ProbedRef> slice;
  for (int64_t i = clip(start); step > 0 ? i < clip(stop) : i > clip(stop);
       i += step) {
    slice.push_back(elements[static_cast<size_t>(i)]);
  }
  return slice;
}

}  // namespace

Interpreter::NodeResults Interpreter::RunContainerOperator(
    torch::jit::Node* node, const Inputs& inputs) {
  using Optional = std::optional<Results>;
  if (inputs.empty() ||
      (inputs[0]->kind != Kind::kList && inputs[0]->kind != Kind::kDict))
    return Optional();
  const c10::FunctionSchema* schema = node->maybeSchema();
  if (schema == nullptr) return Optional();
  AITUNE_RETURN_IF_ERROR(CheckMayChange(*schema, *inputs[0]));
  if (schema->name() == "aten::len")
    return Optional(
        {Everywhere(static_cast<int64_t>(inputs[0]->elements.size()))});
  return inputs[0]->kind == Kind::kList ? RunListOperator(node, inputs)
                                        : RunDictOperator(node, inputs);
}

Interpreter::NodeResults Interpreter::RunListOperator(torch::jit::Node* node,
                                                      const Inputs& inputs) {
  using Optional = std::optional<Results>;
  const std::string& name = node->schema().name();
  const ProbedRef& self = inputs[0];
  std::vector<ProbedRef>& elements = self->elements;
  if (name == "aten::__getitem__" || name == "aten::_set_item" ||
      name == "aten::pop" || name == "aten::Delete")
    return RunElementOperator(node, inputs);
  if (name == "aten::append") {
    elements.push_back(inputs.at(1));
    return Optional({self});
  }
  if (name == "aten::extend" || name == "aten::add_") {
    if (inputs.at(1)->kind == Kind::kOpaque) {
      AITUNE_RETURN_IF_ERROR(ExtendByOpaque(self, inputs[1]));
      return Optional(node->outputs().empty() ? Results() : Results({self}));
    }
    const std::vector<ProbedRef> added = inputs.at(1)->elements;
    elements.insert(elements.end(), added.begin(), added.end());
    return Optional(node->outputs().empty() ? Results() : Results({self}));
  }
  if (name == "aten::insert") {
    AITUNE_ASSIGN_OR_RETURN(int64_t index,
                            UniformInt(inputs.at(1), "the index of a list"));
    const int64_t size = static_cast<int64_t>(elements.size());
    const int64_t at =
        std::clamp<int64_t>(index < 0 ? index + size : index, 0, size);
    elements.insert(elements.begin() + at, inputs.at(2));
    return Optional(Results());
  }
  if (name == "aten::clear" || name == "aten::reverse") {
    if (name == "aten::clear") elements.clear();
    std::reverse(elements.begin(), elements.end());
    return Optional(Results());
  }
  if (name == "aten::copy" || name == "aten::list")
    return Optional({MakeList(elements, self->type_hint)});
  if (name == "aten::add" && inputs.at(1)->kind == Kind::kList) {
    std::vector<ProbedRef> joined = elements;
    joined.insert(joined.end(), inputs[1]->elements.begin(),
                  inputs[1]->elements.end());
    return Optional({MakeList(std::move(joined), self->type_hint)});
  }
  if (name == "aten::mul") {
    AITUNE_ASSIGN_OR_RETURN(
        int64_t times,
        UniformInt(inputs.at(1), "how often a list is repeated"));
    if (times > 0 && times > options_.max_ops)
      return absl::UnimplementedError("a list is repeated too often");
    std::vector<ProbedRef> repeated;
    for (int64_t i = 0; i < times; ++i)
      repeated.insert(repeated.end(), elements.begin(), elements.end());
    return Optional({MakeList(std::move(repeated), self->type_hint)});
  }
  if (name == "aten::slice") return RunListSlice(inputs);
  if (name == "aten::dict") return DictOfPairs(*self, *node);
  return Optional();
}

absl::Status Interpreter::ExtendByOpaque(const ProbedRef& list,
                                         const ProbedRef& added) {
  AITUNE_ASSIGN_OR_RETURN(const Results joined,
                          Invoke(JoinedLists(list, added)));
  // It still has its earlier elements.
  NoteSharing(*list, *joined.at(0));
  NoteSharing(*added, *joined.at(0));
  *list = *joined.at(0);
  return absl::OkStatus();
}

Interpreter::NodeResults Interpreter::RunElementOperator(torch::jit::Node* node,
                                                         const Inputs& inputs) {
  using Optional = std::optional<Results>;
  const std::string& name = node->schema().name();
  const ProbedRef& self = inputs[0];
  std::vector<ProbedRef>& elements = self->elements;
  AITUNE_ASSIGN_OR_RETURN(int64_t index,
                          UniformInt(inputs.at(1), "the index of a list"));
  const std::optional<size_t> position = PositionOf(index, elements.size());
  if (!position)
    return absl::InvalidArgumentError(
        "the model reads a list out of its range");
  if (name == "aten::_set_item") {
    elements[*position] = inputs.at(2);
    return Optional(node->outputs().empty() ? Results() : Results({self}));
  }
  const ProbedRef found = elements[*position];
  if (name != "aten::__getitem__") EraseAt(elements, *position);
  return Optional(name == "aten::Delete" ? Results() : Results({found}));
}

Interpreter::NodeResults Interpreter::RunListSlice(const Inputs& inputs) {
  const ProbedRef& self = inputs[0];
  const int64_t size = static_cast<int64_t>(self->elements.size());
  const auto bound = [&](size_t argument,
                         int64_t otherwise) -> absl::StatusOr<int64_t> {
    const ProbedRef& value = inputs.at(argument);
    if (value->kind == Kind::kPlain && value->probes[0].isNone())
      return otherwise;
    return UniformInt(value, "the bound of a slice");
  };
  AITUNE_ASSIGN_OR_RETURN(int64_t step, bound(3, 1));
  if (step == 0)
    return absl::InvalidArgumentError("the model slices a list with step 0");
  absl::StatusOr<int64_t> start = bound(1, step > 0 ? 0 : size - 1);
  absl::StatusOr<int64_t> stop = bound(2, step > 0 ? size : -size - 1);
  if (!start.ok()) return start.status();
  if (!stop.ok()) return stop.status();
  return std::optional<Results>(
      {MakeList(Sliced(self->elements, *start, *stop, step), self->type_hint)});
}

// Values are known by keys, which are never data dependent.
Interpreter::NodeResults Interpreter::RunDictOperator(torch::jit::Node* node,
                                                      const Inputs& inputs) {
  using Optional = std::optional<Results>;
  static const auto* const kOfKeys = new std::set<std::string>{
      "aten::__getitem__", "aten::__contains__", "aten::get",
      "aten::_set_item",   "aten::pop",          "aten::Delete",
      "aten::setdefault"};
  const std::string& name = node->schema().name();
  const ProbedRef& self = inputs[0];
  if (kOfKeys->count(name) > 0) return RunKeyOperator(node, inputs);
  if (name == "aten::keys" || name == "aten::values" || name == "aten::items") {
    std::vector<ProbedRef> listed;
    for (size_t i = 0; i < self->keys.size(); ++i) {
      const ProbedRef key = Everywhere(self->keys[i]);
      if (name == "aten::keys") {
        listed.push_back(key);
      } else if (name == "aten::values") {
        listed.push_back(self->elements[i]);
      } else {
        listed.push_back(
            MakeContainer(Kind::kTuple, {key, self->elements[i]}, nullptr));
      }
    }
    return Optional({MakeList(std::move(listed), node->output()->type())});
  }
  if (name == "aten::copy" || name == "aten::dict") {
    ProbedRef copy = std::make_shared<ProbedValue>(*self);
    return Optional({copy});
  }
  if (name == "aten::update" && inputs.at(1)->kind == Kind::kDict) {
    const ProbedValue added = *inputs[1];
    for (size_t i = 0; i < added.keys.size(); ++i)
      SetKey(*self, added.keys[i], added.elements[i]);
    return Optional(Results());
  }
  if (name == "aten::clear") {
    self->keys.clear();
    self->elements.clear();
    return Optional(Results());
  }
  return Optional();
}

Interpreter::NodeResults Interpreter::RunKeyOperator(torch::jit::Node* node,
                                                     const Inputs& inputs) {
  using Optional = std::optional<Results>;
  const std::string& name = node->schema().name();
  const ProbedRef& self = inputs[0];
  const ProbedRef& given = inputs.at(1);
  if (given->kind != Kind::kPlain) {
    return absl::UnimplementedError(
        "the key of a dict is not known without data");
  }
  AITUNE_RETURN_IF_ERROR(Settle(given, "the key of a dict"));
  const c10::IValue key = given->probes[0];
  const std::optional<size_t> position = FindKey(*self, key);
  if (name == "aten::__contains__")
    return Optional({Everywhere(position.has_value())});
  if (name == "aten::_set_item") {
    SetKey(*self, key, inputs.at(2));
    return Optional(Results());
  }
  if (name == "aten::get" || name == "aten::setdefault" ||
      (name == "aten::pop" && inputs.size() > 2)) {
    if (!position) {
      if (name == "aten::setdefault") SetKey(*self, key, inputs.at(2));
      if (inputs.size() > 2) return Optional({inputs[2]});
      return Optional({Everywhere(c10::IValue())});
    }
  } else if (!position) {
    return absl::InvalidArgumentError(
        "the model reads a key that its dict does not have");
  }
  const ProbedRef found = self->elements[*position];
  if (name == "aten::pop" || name == "aten::Delete") {
    EraseAt(self->elements, *position);
    self->keys.erase(self->keys.begin() +
                     static_cast<std::ptrdiff_t>(*position));
  }
  return Optional(name == "aten::Delete" ? Results() : Results({found}));
}

}  // namespace aitune::frontend
