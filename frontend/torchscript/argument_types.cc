#include "frontend/torchscript/argument_types.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "frontend/torchscript/model_internal.h"

namespace aitune::frontend {
namespace {

bool Fits(const c10::IValue& value, const c10::TypePtr& type) {
  return value.type()->isSubtypeOf(*type);
}

c10::TypePtr TypeOfElements(const c10::IValue& value);

// The type that Python's binding gives to a value without a declared one: that
// of a container follows from its elements. Null if they have no common type,
// or there are none.
c10::TypePtr TypeOfElements(const c10::IValue& value) {
  if (value.isTensor()) return c10::TensorType::get();
  if (value.isList()) {
    const c10::TypePtr element = CommonType(value.toListRef().vec());
    if (element == nullptr) return nullptr;
    return c10::ListType::create(element);
  }
  if (value.isGenericDict()) {
    std::vector<c10::IValue> keys, values;
    for (const auto& entry : value.toGenericDict()) {
      keys.push_back(entry.key());
      values.push_back(entry.value());
    }
    const c10::TypePtr key = CommonType(keys), element = CommonType(values);
    if (key == nullptr || element == nullptr) return nullptr;
    return c10::DictType::create(key, element);
  }
  if (value.isTuple()) {
    if (value.type()->expect<c10::TupleType>()->schema()) return value.type();
    std::vector<c10::TypePtr> types;
    for (const c10::IValue& element : value.toTupleRef().elements()) {
      types.push_back(TypeOfElements(element));
      if (types.back() == nullptr) return nullptr;
    }
    return c10::TupleType::create(std::move(types));
  }
  return value.type();
}

bool HoldsAny(const c10::IValue& value) {
  if (value.isTuple()) {
    const auto& elements = value.toTupleRef().elements();
    return std::any_of(elements.begin(), elements.end(), HoldsAny);
  }
  const c10::TypePtr type = value.type();
  if (const auto list = type->cast<c10::ListType>())
    return list->getElementType()->kind() == c10::TypeKind::AnyType;
  if (const auto dict = type->cast<c10::DictType>())
    return dict->getValueType()->kind() == c10::TypeKind::AnyType;
  return false;
}

// Gives values the types of parameters.
class Converter {
 public:
  // Whether numbers are converted too, as Python does.
  explicit Converter(bool numbers) : numbers_(numbers) {}

  c10::IValue Convert(const c10::IValue& value,
                      const c10::TypePtr& type) const {
    if (const auto optional = type->cast<c10::OptionalType>())
      return value.isNone() ? value
                            : Convert(value, optional->getElementType());
    if (const auto list = type->cast<c10::ListType>();
        list && (value.isList() || (numbers_ && value.isTuple())))
      return ConvertList(value, *list);
    if (const auto dict = type->cast<c10::DictType>();
        dict && value.isGenericDict())
      return ConvertDict(value, *dict);
    if (const auto tuple = type->cast<c10::TupleType>();
        tuple && value.isTuple())
      return ConvertTuple(value, tuple);
    if (const auto members = type->cast<c10::UnionType>())
      return ConvertMember(value, *members);
    if (type->kind() == c10::TypeKind::AnyType && HoldsAny(value)) {
      const c10::TypePtr found = TypeOfElements(value);
      return found == nullptr ? value : WithContainerTypes(value, found);
    }
    if (!numbers_) return value;
    if (value.isString() && type->kind() == c10::TypeKind::DeviceObjType)
      return c10::Device(value.toStringRef());
    return ConvertNumber(NumberOf(value, *type), *type);
  }

 private:
  // The element of a tensor that has one, if a parameter of `type` takes it.
  static c10::IValue NumberOf(const c10::IValue& value, const c10::Type& type) {
    if (!value.isTensor() || !value.toTensor().defined() ||
        value.toTensor().numel() != 1)
      return value;
    const at::Tensor& tensor = value.toTensor();
    const bool is_whole =
        at::isIntegralType(tensor.scalar_type(), /*includeBool=*/true);
    const bool takes =
        type.kind() == c10::TypeKind::IntType
            ? is_whole
            : type.kind() == c10::TypeKind::FloatType && !tensor.is_complex();
    return takes ? c10::IValue(tensor.item()) : value;
  }

  c10::IValue ConvertList(const c10::IValue& value,
                          const c10::ListType& type) const {
    c10::impl::GenericList list(type.getElementType());
    const c10::ArrayRef<c10::IValue> elements =
        value.isTuple() ? value.toTupleRef().elements().asArrayRef()
                        : value.toListRef();
    for (const c10::IValue& element : elements) {
      c10::IValue typed = Convert(element, type.getElementType());
      if (!Fits(typed, type.getElementType())) return value;
      list.push_back(std::move(typed));
    }
    return list;
  }

  c10::IValue ConvertDict(const c10::IValue& value,
                          const c10::DictType& type) const {
    c10::impl::GenericDict dict(type.getKeyType(), type.getValueType());
    for (const auto& entry : value.toGenericDict()) {
      c10::IValue key = Convert(entry.key(), type.getKeyType());
      c10::IValue typed = Convert(entry.value(), type.getValueType());
      if (!Fits(key, type.getKeyType()) || !Fits(typed, type.getValueType()))
        return value;
      dict.insert(std::move(key), std::move(typed));
    }
    return dict;
  }

  c10::IValue ConvertTuple(const c10::IValue& value,
                           const c10::TupleTypePtr& type) const {
    const std::vector<c10::IValue> elements =
        value.toTupleRef().elements().vec();
    if (elements.size() != type->elements().size()) return value;
    std::vector<c10::IValue> typed;
    for (size_t i = 0; i < elements.size(); ++i) {
      typed.push_back(Convert(elements[i], type->elements()[i]));
      if (!Fits(typed.back(), type->elements()[i])) return value;
    }
    return c10::ivalue::Tuple::createNamed(std::move(typed), type);
  }

  // Numbers stay, as in Python: 1 is no Union[float, str].
  static c10::IValue ConvertMember(const c10::IValue& value,
                                   const c10::UnionType& type) {
    if (value.type()->isSubtypeOf(type)) return value;
    if (const c10::TypePtr found = TypeOfElements(value)) {
      c10::IValue typed = WithContainerTypes(value, found);
      if (typed.type()->isSubtypeOf(type)) return typed;
    }
    for (const c10::TypePtr& member : type.containedTypes()) {
      c10::IValue typed = WithContainerTypes(value, member);
      if (Fits(typed, member)) return typed;
    }
    return value;
  }

  static c10::IValue ConvertNumber(const c10::IValue& value,
                                   const c10::Type& type) {
    const bool whole = value.isInt() || value.isBool();
    const int64_t integer = value.isInt()    ? value.toInt()
                            : value.isBool() ? value.toBool()
                                             : 0;
    switch (type.kind()) {
      case c10::TypeKind::IntType:
        return whole ? c10::IValue(integer) : value;
      case c10::TypeKind::FloatType:
        return whole ? c10::IValue(static_cast<double>(integer)) : value;
      case c10::TypeKind::BoolType:
        if (value.isDouble()) return value.toDouble() != 0;
        return whole ? c10::IValue(integer != 0) : value;
      case c10::TypeKind::ComplexType:
        if (value.isDouble()) return c10::complex<double>(value.toDouble());
        return whole ? c10::IValue(
                           c10::complex<double>(static_cast<double>(integer)))
                     : value;
      default:
        return value;
    }
  }

  const bool numbers_;
};

}  // namespace

c10::TypePtr CommonType(const std::vector<c10::IValue>& values) {
  c10::TypePtr common;
  for (const c10::IValue& value : values) {
    const c10::TypePtr type = TypeOfElements(value);
    if (type == nullptr) return nullptr;
    const std::optional<c10::TypePtr> both =
        common == nullptr ? type : c10::unifyTypes(common, type);
    if (!both) return nullptr;
    common = *both;
  }
  return common;
}

c10::IValue WithContainerTypes(const c10::IValue& value,
                               const c10::TypePtr& type) {
  return Converter(/*numbers=*/false).Convert(value, type);
}

std::vector<c10::TypePtr> ParameterTypes(const Model& model) {
  const std::vector<c10::Argument>& declared =
      model.impl().ForwardSchema().arguments();
  std::vector<c10::TypePtr> types;
  for (size_t i = 1; i < declared.size(); ++i)
    types.push_back(declared[i].type());
  return types;
}

ValueList WithTypes(const std::vector<c10::TypePtr>& types,
                    const ValueList& arguments) {
  std::vector<c10::IValue> values = arguments.values();
  for (size_t i = 0; i < values.size() && i < types.size(); ++i)
    values[i] = Converter(/*numbers=*/true).Convert(values[i], types[i]);
  return ValueList(std::move(values));
}

ValueList WithParameterTypes(const Model& model, const ValueList& arguments) {
  return WithTypes(ParameterTypes(model), arguments);
}

}  // namespace aitune::frontend
