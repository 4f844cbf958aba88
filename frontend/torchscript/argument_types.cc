#include "frontend/torchscript/argument_types.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>

#include <utility>
#include <vector>

namespace aitune::frontend {
namespace {

bool Fits(const c10::IValue& value, const c10::TypePtr& type) {
  return value.type()->isSubtypeOf(*type);
}

}  // namespace

c10::IValue WithContainerTypes(const c10::IValue& value,
                               const c10::TypePtr& type) {
  if (const auto optional = type->cast<c10::OptionalType>()) {
    return value.isNone()
               ? value
               : WithContainerTypes(value, optional->getElementType());
  }
  if (const auto list_type = type->cast<c10::ListType>();
      list_type && value.isList()) {
    c10::impl::GenericList list(list_type->getElementType());
    for (const c10::IValue& element : value.toListRef()) {
      c10::IValue typed =
          WithContainerTypes(element, list_type->getElementType());
      if (!Fits(typed, list_type->getElementType())) return value;
      list.push_back(std::move(typed));
    }
    return list;
  }
  if (const auto dict_type = type->cast<c10::DictType>();
      dict_type && value.isGenericDict()) {
    c10::impl::GenericDict dict(dict_type->getKeyType(),
                                dict_type->getValueType());
    for (const auto& entry : value.toGenericDict()) {
      c10::IValue typed =
          WithContainerTypes(entry.value(), dict_type->getValueType());
      if (!Fits(entry.key(), dict_type->getKeyType()) ||
          !Fits(typed, dict_type->getValueType()))
        return value;
      dict.insert(entry.key(), std::move(typed));
    }
    return dict;
  }
  if (const auto tuple_type = type->cast<c10::TupleType>();
      tuple_type && value.isTuple()) {
    const std::vector<c10::IValue> elements =
        value.toTupleRef().elements().vec();
    if (elements.size() != tuple_type->elements().size()) return value;
    std::vector<c10::IValue> typed;
    for (size_t i = 0; i < elements.size(); ++i)
      typed.push_back(
          WithContainerTypes(elements[i], tuple_type->elements()[i]));
    return c10::ivalue::Tuple::createNamed(std::move(typed), tuple_type);
  }
  return value;
}

}  // namespace aitune::frontend
