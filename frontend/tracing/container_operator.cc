// The methods of lists and dicts.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/tracing/interpreter.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Kind = ProbedValue::Kind;

std::optional<size_t> Position(int64_t index, size_t size) {
  const int64_t signed_size = static_cast<int64_t>(size);
  if (index < 0) index += signed_size;
  if (index < 0 || index >= signed_size) return std::nullopt;
  return static_cast<size_t>(index);
}

std::shared_ptr<ProbedValue> MakeList(std::vector<ProbedRef> elements,
                                      c10::TypePtr type) {
  auto list = std::make_shared<ProbedValue>();
  list->kind = Kind::kList;
  list->elements = std::move(elements);
  list->type_hint = std::move(type);
  return list;
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

}  // namespace

absl::StatusOr<std::optional<Interpreter::Results>>
Interpreter::RunContainerOperator(torch::jit::Node* node,
                                  const std::vector<ProbedRef>& inputs) {
  using Optional = std::optional<Results>;
  if (inputs.empty() ||
      (inputs[0]->kind != Kind::kList && inputs[0]->kind != Kind::kDict))
    return Optional();
  const c10::FunctionSchema* schema = node->maybeSchema();
  if (schema == nullptr) return Optional();
  const std::string& name = schema->name();
  ProbedRef self = inputs[0];
  std::vector<ProbedRef>& elements = self->elements;
  // The next call finds it changed.
  const bool writes = schema->arguments()[0].alias_info() != nullptr &&
                      schema->arguments()[0].alias_info()->isWrite();
  if (self->kept_by_module && writes)
    return absl::UnimplementedError(
        absl::StrCat(name, " changes a list or dict that the model keeps"));
  if (self->may_share_memory && writes)
    return absl::UnimplementedError(absl::StrCat(
        name, " changes a list or dict that another name may denote, by data"));
  const auto plain = [&](c10::IValue value) {
    return Optional({MakePlain(
        std::vector<c10::IValue>(fitter_.probes().size(), std::move(value)))});
  };
  const auto index_of = [&](size_t argument) -> absl::StatusOr<int64_t> {
    return UniformInt(inputs.at(argument), "the index of a list");
  };
  if (name == "aten::len") return plain(static_cast<int64_t>(elements.size()));

  if (self->kind == Kind::kList) {
    const auto element_at = [&](size_t argument) -> absl::StatusOr<size_t> {
      AITUNE_ASSIGN_OR_RETURN(int64_t index, index_of(argument));
      const std::optional<size_t> position = Position(index, elements.size());
      if (!position)
        return absl::InvalidArgumentError(
            "the model reads a list out of its range");
      return *position;
    };
    if (name == "aten::__getitem__") {
      AITUNE_ASSIGN_OR_RETURN(size_t position, element_at(1));
      return Optional({elements[position]});
    }
    if (name == "aten::_set_item") {
      AITUNE_ASSIGN_OR_RETURN(size_t position, element_at(1));
      elements[position] = inputs.at(2);
      return Optional(node->outputs().empty() ? Results() : Results({self}));
    }
    if (name == "aten::append") {
      elements.push_back(inputs.at(1));
      return Optional({self});
    }
    if (name == "aten::extend" ||
        (name == "aten::add_" && inputs.at(1)->kind == Kind::kList)) {
      const std::vector<ProbedRef> added = inputs.at(1)->elements;
      elements.insert(elements.end(), added.begin(), added.end());
      return Optional(node->outputs().empty() ? Results() : Results({self}));
    }
    if (name == "aten::insert") {
      AITUNE_ASSIGN_OR_RETURN(int64_t index, index_of(1));
      const int64_t size = static_cast<int64_t>(elements.size());
      const int64_t at =
          std::clamp<int64_t>(index < 0 ? index + size : index, 0, size);
      elements.insert(elements.begin() + at, inputs.at(2));
      return Optional(Results());
    }
    if (name == "aten::pop") {
      AITUNE_ASSIGN_OR_RETURN(size_t position, element_at(1));
      const ProbedRef popped = elements[position];
      elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(position));
      return Optional({popped});
    }
    if (name == "aten::Delete") {
      AITUNE_ASSIGN_OR_RETURN(size_t position, element_at(1));
      elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(position));
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
    if (name == "aten::slice") {
      const int64_t size = static_cast<int64_t>(elements.size());
      const auto bound = [&](size_t argument,
                             int64_t otherwise) -> absl::StatusOr<int64_t> {
        const ProbedRef& value = inputs.at(argument);
        if (value->kind == Kind::kPlain && value->probes[0].isNone())
          return otherwise;
        return UniformInt(value, "the bound of a slice");
      };
      AITUNE_ASSIGN_OR_RETURN(int64_t step, bound(3, 1));
      if (step == 0)
        return absl::InvalidArgumentError(
            "the model slices a list with step 0");
      absl::StatusOr<int64_t> start = bound(1, step > 0 ? 0 : size - 1);
      absl::StatusOr<int64_t> stop = bound(2, step > 0 ? size : -size - 1);
      if (!start.ok()) return start.status();
      if (!stop.ok()) return stop.status();
      const auto clip = [&](int64_t at) {
        if (at < 0) at += size;
        return step > 0 ? std::clamp<int64_t>(at, 0, size)
                        : std::clamp<int64_t>(at, -1, size - 1);
      };
      std::vector<ProbedRef> slice;
      for (int64_t i = clip(*start);
           step > 0 ? i < clip(*stop) : i > clip(*stop); i += step) {
        slice.push_back(elements[static_cast<size_t>(i)]);
      }
      return Optional({MakeList(std::move(slice), self->type_hint)});
    }
    if (name == "aten::dict") return DictOfPairs(*self, *node);
    return Optional();
  }

  // Dicts. Values are known by keys, which are never data dependent.
  const auto key_of = [&](size_t argument) -> absl::StatusOr<c10::IValue> {
    const ProbedRef& key = inputs.at(argument);
    if (key->kind != Kind::kPlain) {
      return absl::UnimplementedError(
          "the key of a dict is not known without data");
    }
    AITUNE_RETURN_IF_ERROR(Settle(key, "the key of a dict"));
    return key->probes[0];
  };
  if (name == "aten::keys" || name == "aten::values" || name == "aten::items") {
    std::vector<ProbedRef> listed;
    for (size_t i = 0; i < self->keys.size(); ++i) {
      const ProbedRef key = MakePlain(
          std::vector<c10::IValue>(fitter_.probes().size(), self->keys[i]));
      if (name == "aten::keys") {
        listed.push_back(key);
      } else if (name == "aten::values") {
        listed.push_back(elements[i]);
      } else {
        ProbedRef pair = MakeList({key, elements[i]}, nullptr);
        pair->kind = Kind::kTuple;
        listed.push_back(std::move(pair));
      }
    }
    return Optional({MakeList(std::move(listed), node->output()->type())});
  }
  if (name != "aten::__getitem__" && name != "aten::__contains__" &&
      name != "aten::get" && name != "aten::_set_item" && name != "aten::pop" &&
      name != "aten::Delete" && name != "aten::setdefault") {
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
      elements.clear();
      return Optional(Results());
    }
    return Optional();
  }
  AITUNE_ASSIGN_OR_RETURN(c10::IValue key, key_of(1));
  const std::optional<size_t> position = FindKey(*self, key);
  if (name == "aten::__contains__") return plain(position.has_value());
  if (name == "aten::_set_item") {
    SetKey(*self, key, inputs.at(2));
    return Optional(Results());
  }
  if (name == "aten::get" || name == "aten::setdefault" ||
      (name == "aten::pop" && inputs.size() > 2)) {
    if (!position) {
      if (name == "aten::setdefault") SetKey(*self, key, inputs.at(2));
      if (inputs.size() > 2) return Optional({inputs[2]});
      return plain(c10::IValue());
    }
  } else if (!position) {
    return absl::InvalidArgumentError(
        "the model reads a key that its dict does not have");
  }
  const ProbedRef found = elements[*position];
  if (name == "aten::pop" || name == "aten::Delete") {
    elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(*position));
    self->keys.erase(self->keys.begin() +
                     static_cast<std::ptrdiff_t>(*position));
  }
  return Optional(name == "aten::Delete" ? Results() : Results({found}));
}

}  // namespace aitune::frontend
