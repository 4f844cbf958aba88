#include "frontend/trace/structure.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/trace/leaf_value.h"
#include "frontend/trace/structure_internal.h"
#include "frontend/trace/value_place.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Kind = Structure::Kind;

const char* KindName(Kind kind) {
  switch (kind) {
    case Kind::kTensor:
      return "a tensor";
    case Kind::kNone:
      return "None";
    case Kind::kConstant:
      return "a number or string";
    case Kind::kTuple:
      return "a tuple";
    case Kind::kList:
      return "a list";
    case Kind::kDict:
      return "a dict";
  }
  return "";
}

// Whether a program takes them for the same; what is known of tensors' sizes
// makes no difference.
bool SameType(const c10::TypePtr& a, const c10::TypePtr& b) {
  return a == b || *a == *b || a->annotation_str() == b->annotation_str();
}

// Whether a list, dict or tuple with names has the type that the structure
// says: of one that a parameter of type Any or a Union takes, the program may
// ask it, which the leaves do not tell.
bool HasTypeOf(const Structure& structure, const c10::IValue& value) {
  const c10::TypePtr& type = InfoOf(structure).type;
  if (type == nullptr) return true;
  if (const auto list = type->cast<c10::ListType>())
    return SameType(list->getElementType(), value.toList().elementType());
  if (const auto dict = type->cast<c10::DictType>()) {
    const c10::impl::GenericDict given = value.toGenericDict();
    return SameType(dict->getKeyType(), given.keyType()) &&
           SameType(dict->getValueType(), given.valueType());
  }
  const auto tuple = type->cast<c10::TupleType>();
  if (tuple == nullptr || !tuple->schema()) return true;
  const auto given = value.type()->cast<c10::TupleType>();
  return given != nullptr && given->name() == tuple->name();
}

// Appends the leaves of `value`. Calls itself; throws what LibTorch throws.
absl::Status AddLeaves(const Structure& structure, const c10::IValue& value,
                       const ValuePlace& place,
                       std::vector<OwnedValue>* leaves) {
  if (IsLeaf(structure)) {
    if (IsContainer(value))
      return Mismatch(place.Text(), KindName(structure.kind), value);
    leaves->push_back(ToOwned(value));
    return absl::OkStatus();
  }
  const size_t count = structure.children.size();
  if (structure.kind == Kind::kDict) {
    if (!value.isGenericDict()) return Mismatch(place.Text(), "a dict", value);
    const c10::impl::GenericDict dict = value.toGenericDict();
    if (dict.size() != count)
      return Mismatch(place.Text(), absl::StrCat("a dict of ", count), value);
    if (!HasTypeOf(structure, value))
      return Mismatch(place.Text(), structure.type_name, value);
    for (size_t i = 0; i < count; ++i) {
      const auto found = dict.find(InfoOf(structure).keys[i]);
      if (found == dict.end())
        return Mismatch(place.Text(),
                        absl::StrCat("a dict with ", structure.keys[i]), value);
      AITUNE_RETURN_IF_ERROR(AddLeaves(structure.children[i], found->value(),
                                       {&place, i, &structure}, leaves));
    }
    return absl::OkStatus();
  }
  const bool fits =
      structure.kind == Kind::kTuple ? value.isTuple() : value.isList();
  if (!fits) return Mismatch(place.Text(), KindName(structure.kind), value);
  const c10::ArrayRef<c10::IValue> elements =
      value.isTuple() ? value.toTupleRef().elements().asArrayRef()
                      : value.toListRef();
  if (elements.size() != count)
    return Mismatch(place.Text(),
                    absl::StrCat(KindName(structure.kind), " of ", count),
                    value);
  if (!HasTypeOf(structure, value))
    return Mismatch(place.Text(), structure.type_name, value);
  for (size_t i = 0; i < count; ++i)
    AITUNE_RETURN_IF_ERROR(AddLeaves(structure.children[i], elements[i],
                                     {&place, i, &structure}, leaves));
  return absl::OkStatus();
}

// Whether the dicts of `value`, which has this nesting, have their keys in its
// order.
bool KeysAreInOrder(const Structure& structure, const c10::IValue& value) {
  if (IsLeaf(structure)) return true;
  if (structure.kind == Kind::kDict) {
    const c10::impl::GenericDict dict = value.toGenericDict();
    auto entry = dict.begin();
    for (size_t i = 0; i < structure.children.size(); ++i, ++entry) {
      if (dict.find(InfoOf(structure).keys[i]) != entry ||
          !KeysAreInOrder(structure.children[i], entry->value()))
        return false;
    }
    return true;
  }
  const c10::ArrayRef<c10::IValue> elements =
      value.isTuple() ? value.toTupleRef().elements().asArrayRef()
                      : value.toListRef();
  for (size_t i = 0; i < structure.children.size(); ++i)
    if (!KeysAreInOrder(structure.children[i], elements[i])) return false;
  return true;
}

Structure NestingOf(const c10::IValue& value) {
  if (!IsContainer(value)) return Structure();
  ContainerInfo info;
  std::vector<Structure> children;
  if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements())
      children.push_back(NestingOf(element));
    const auto type = value.type()->cast<c10::TupleType>();
    if (type && type->schema()) info.type = type;
    return ContainerStructure(Kind::kTuple, std::move(children),
                              std::move(info));
  }
  info.type = value.type();
  if (value.isList()) {
    for (const c10::IValue& element : value.toListRef())
      children.push_back(NestingOf(element));
    return ContainerStructure(Kind::kList, std::move(children),
                              std::move(info));
  }
  for (const auto& entry : value.toGenericDict()) {
    info.keys.push_back(entry.key());
    children.push_back(NestingOf(entry.value()));
  }
  return ContainerStructure(Kind::kDict, std::move(children), std::move(info));
}

// Takes leaves in order and nests them.
class Nester {
 public:
  explicit Nester(std::vector<c10::IValue> leaves)
      : leaves_(std::move(leaves)) {}

  c10::IValue Nest(const Structure& structure) {
    switch (structure.kind) {
      case Kind::kTensor:
      case Kind::kNone:
      case Kind::kConstant:
        return std::move(leaves_.at(next_++));
      case Kind::kTuple: {
        std::vector<c10::IValue> children = Children(structure);
        const c10::TypePtr& type = InfoOf(structure).type;
        if (type)
          return c10::ivalue::Tuple::createNamed(
              std::move(children), type->expect<c10::TupleType>());
        return c10::ivalue::Tuple::create(std::move(children));
      }
      case Kind::kList: {
        c10::impl::GenericList list(
            InfoOf(structure).type->expect<c10::ListType>()->getElementType());
        for (c10::IValue& child : Children(structure))
          list.push_back(std::move(child));
        return list;
      }
      case Kind::kDict: {
        const auto type = InfoOf(structure).type->expect<c10::DictType>();
        c10::impl::GenericDict dict(type->getKeyType(), type->getValueType());
        std::vector<c10::IValue> children = Children(structure);
        for (size_t i = 0; i < children.size(); ++i)
          dict.insert(InfoOf(structure).keys[i], std::move(children[i]));
        return dict;
      }
    }
    return {};
  }

 private:
  std::vector<c10::IValue> Children(const Structure& structure) {
    std::vector<c10::IValue> children;
    children.reserve(structure.children.size());
    for (const Structure& child : structure.children)
      children.push_back(Nest(child));
    return children;
  }

  std::vector<c10::IValue> leaves_;
  size_t next_ = 0;
};

int LeafCount(const Structure& structure) {
  int count = 0;
  ForEachLeaf(structure, [&](const Structure&) { ++count; });
  return count;
}

}  // namespace

absl::Status CheckKeyOrder(const Structure& structure,
                           const std::vector<c10::IValue>& values) {
  for (size_t i = 0; i < structure.children.size() && i < values.size(); ++i) {
    if (!KeysAreInOrder(structure.children[i], values[i]))
      return absl::InvalidArgumentError(absl::StrCat(
          "the keys of a dict in argument ", i,
          " are in another order than those that the model was compiled for, "
          "and the program sees their order"));
  }
  return absl::OkStatus();
}

Structure NestingOf(const std::vector<c10::IValue>& values) {
  std::vector<Structure> children;
  for (const c10::IValue& value : values) children.push_back(NestingOf(value));
  return ContainerStructure(Kind::kTuple, std::move(children), {});
}

bool SameNesting(const Structure& a, const Structure& b) {
  if (IsLeaf(a) || IsLeaf(b)) return IsLeaf(a) && IsLeaf(b);
  if (a.kind != b.kind || a.children.size() != b.children.size() ||
      a.keys != b.keys)
    return false;
  if (a.kind != Kind::kTuple && a.type_name != b.type_name) return false;
  for (size_t i = 0; i < a.children.size(); ++i) {
    if (!SameNesting(a.children[i], b.children[i])) return false;
  }
  return true;
}

absl::StatusOr<std::vector<OwnedValue>> FlattenLeaves(
    const Structure& structure, const std::vector<c10::IValue>& values) {
  if (values.size() != structure.children.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model was compiled for ", structure.children.size(),
                     " inputs, given are ", values.size()));
  }
  std::vector<OwnedValue> leaves;
  leaves.reserve(values.size());
  AITUNE_RETURN_IF_ERROR(
      CatchExceptions(absl::StatusCode::kInternal, "flattening", [&] {
        for (size_t i = 0; i < values.size(); ++i)
          AITUNE_RETURN_IF_ERROR(AddLeaves(structure.children[i], values[i],
                                           {nullptr, i, &structure}, &leaves));
        return absl::OkStatus();
      }));
  return leaves;
}

absl::StatusOr<c10::IValue> UnflattenLeaves(const Structure& structure,
                                            std::vector<c10::IValue> leaves) {
  const int count = LeafCount(structure);
  if (leaves.size() != static_cast<size_t>(count))
    return absl::InvalidArgumentError(absl::StrCat(
        "the values have ", count, " leaves, not ", leaves.size()));
  c10::IValue result;
  AITUNE_RETURN_IF_ERROR(
      CatchExceptions(absl::StatusCode::kInternal, "nesting", [&] {
        result = Nester(std::move(leaves)).Nest(structure);
        return absl::OkStatus();
      }));
  return result;
}

}  // namespace aitune::frontend
