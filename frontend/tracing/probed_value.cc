#include "frontend/tracing/probed_value.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/class_type.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <utility>

namespace aitune::frontend {
namespace {

bool EqualKeys(const c10::IValue& a, const c10::IValue& b) {
  if (a.isString() && b.isString()) return a.toStringRef() == b.toStringRef();
  if (a.isInt() && b.isInt()) return a.toInt() == b.toInt();
  if (a.isDouble() && b.isDouble()) return a.toDouble() == b.toDouble();
  if (a.isBool() && b.isBool()) return a.toBool() == b.toBool();
  if (a.isComplexDouble() && b.isComplexDouble())
    return a.toComplexDouble() == b.toComplexDouble();
  return a.is(b);
}

}  // namespace

bool HasOpaque(const ProbedValue& value) {
  if (value.kind == ProbedValue::Kind::kOpaque) return true;
  return std::any_of(value.elements.begin(), value.elements.end(),
                     [](const ProbedRef& e) { return HasOpaque(*e); });
}

const std::vector<SizeExpression>* KnownSizes(const ProbedValue& value) {
  return value.has_sizes || (value.IsTensor() && value.has_type)
             ? &value.type.sizes
             : nullptr;
}

bool HasUnknownSizes(const ProbedValue& value) {
  if (value.kind == ProbedValue::Kind::kOpaque)
    return !value.has_sizes && !value.is_list_of_known;
  return std::any_of(value.elements.begin(), value.elements.end(),
                     [](const ProbedRef& e) { return HasUnknownSizes(*e); });
}

bool HasVaryingType(const ProbedValue& value) {
  return (value.kind == ProbedValue::Kind::kOpaque && value.of_varying_type) ||
         std::any_of(value.elements.begin(), value.elements.end(),
                     [](const ProbedRef& e) { return HasVaryingType(*e); });
}

bool IsTainted(const ProbedValue& value) {
  if (value.kind == ProbedValue::Kind::kOpaque) return true;
  if (value.IsTensor())
    return value.storage != nullptr && value.storage->tainted;
  return std::any_of(value.elements.begin(), value.elements.end(),
                     [](const ProbedRef& e) { return IsTainted(*e); });
}

bool IsUniform(const ProbedValue& value) {
  switch (value.kind) {
    case ProbedValue::Kind::kOpaque:
      return false;
    case ProbedValue::Kind::kPlain:
      return value.uniform;
    case ProbedValue::Kind::kTensor:
      return value.uniform && value.storage->constant;
    default:
      return std::all_of(value.elements.begin(), value.elements.end(),
                         [](const ProbedRef& e) { return IsUniform(*e); });
  }
}

bool AllUniform(const std::vector<ProbedRef>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](const ProbedRef& value) { return IsUniform(*value); });
}

bool AnyTainted(const std::vector<ProbedRef>& values) {
  return std::any_of(values.begin(), values.end(),
                     [](const ProbedRef& value) { return IsTainted(*value); });
}

bool AnyOpaque(const std::vector<ProbedRef>& values) {
  return std::any_of(values.begin(), values.end(),
                     [](const ProbedRef& value) { return HasOpaque(*value); });
}

ProbedRef MakeContainer(ProbedValue::Kind kind, std::vector<ProbedRef> elements,
                        c10::TypePtr type) {
  auto container = std::make_shared<ProbedValue>();
  container->kind = kind;
  container->elements = std::move(elements);
  container->type_hint = std::move(type);
  return container;
}

std::optional<size_t> PositionOf(int64_t index, size_t size) {
  const int64_t signed_size = static_cast<int64_t>(size);
  if (index < 0) index += signed_size;
  if (index < 0 || index >= signed_size) return std::nullopt;
  return static_cast<size_t>(index);
}

c10::IValue ValueInProbe(const ProbedValue& value, size_t probe) {
  switch (value.kind) {
    case ProbedValue::Kind::kList: {
      c10::impl::GenericList list(
          value.type_hint->expect<c10::ListType>()->getElementType());
      list.reserve(value.elements.size());
      for (const ProbedRef& element : value.elements)
        list.push_back(ValueInProbe(*element, probe));
      return list;
    }
    case ProbedValue::Kind::kTuple: {
      std::vector<c10::IValue> elements;
      for (const ProbedRef& element : value.elements)
        elements.push_back(ValueInProbe(*element, probe));
      const auto type =
          value.type_hint ? value.type_hint->cast<c10::TupleType>() : nullptr;
      if (type && type->schema() != nullptr)
        return c10::ivalue::Tuple::createNamed(std::move(elements), type);
      return c10::ivalue::Tuple::create(std::move(elements));
    }
    case ProbedValue::Kind::kDict: {
      const auto type = value.type_hint->expect<c10::DictType>();
      c10::impl::GenericDict dict(type->getKeyType(), type->getValueType());
      for (size_t i = 0; i < value.keys.size(); ++i)
        dict.insert(value.keys[i], ValueInProbe(*value.elements[i], probe));
      return dict;
    }
    case ProbedValue::Kind::kObject: {
      const auto type = value.type_hint->expect<c10::ClassType>();
      const c10::intrusive_ptr<c10::ivalue::Object> object =
          c10::ivalue::Object::create(
              c10::StrongTypePtr(type->compilation_unit(), type),
              type->numAttributes());
      for (size_t i = 0; i < value.keys.size(); ++i)
        object->setAttr(value.keys[i].toStringRef(),
                        ValueInProbe(*value.elements[i], probe));
      return object;
    }
    default:
      return value.probes[probe];
  }
}

void CollectTensors(const ProbedRef& value, std::vector<ProbedRef>& tensors) {
  if (value->IsTensor()) tensors.push_back(value);
  for (const ProbedRef& element : value->elements)
    CollectTensors(element, tensors);
}

void CollectOpaqueTensors(const ProbedRef& value,
                          std::vector<ProbedRef>& tensors) {
  if (value->has_sizes) tensors.push_back(value);
  for (const ProbedRef& element : value->elements)
    CollectOpaqueTensors(element, tensors);
}

std::optional<size_t> FindKey(const ProbedValue& value,
                              const c10::IValue& key) {
  for (size_t i = 0; i < value.keys.size(); ++i) {
    if (EqualKeys(value.keys[i], key)) return i;
  }
  return std::nullopt;
}

void SetKey(ProbedValue& value, const c10::IValue& key, ProbedRef element) {
  if (const std::optional<size_t> known = FindKey(value, key)) {
    value.elements[*known] = std::move(element);
    return;
  }
  value.keys.push_back(key);
  value.elements.push_back(std::move(element));
}

}  // namespace aitune::frontend
