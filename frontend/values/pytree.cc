#include "frontend/values/pytree.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/values/value_list.h"

namespace aitune::frontend {
namespace {

std::string KeyText(const c10::IValue& key) {
  if (key.isString()) return absl::StrCat("'", key.toStringRef(), "'");
  std::ostringstream text;
  text << key;
  return text.str();
}

bool IsUndefined(const c10::IValue& leaf) {
  return leaf.isTensor() && !leaf.toTensor().defined();
}

void Walk(const c10::IValue& value, const std::string& path,
          std::vector<Leaf>& leaves) {
  if (value.isTuple()) {
    const auto& elements = value.toTupleRef().elements();
    for (size_t i = 0; i < elements.size(); ++i)
      Walk(elements[i], absl::StrCat(path, "[", i, "]"), leaves);
  } else if (value.isList()) {
    const auto list = value.toList();
    for (size_t i = 0; i < list.size(); ++i)
      Walk(list.get(i), absl::StrCat(path, "[", i, "]"), leaves);
  } else if (value.isGenericDict()) {
    size_t number = 0;
    for (const auto& entry : value.toGenericDict()) {
      const size_t place = number++;
      if (!entry.key().isTensor()) {
        Walk(entry.value(), absl::StrCat(path, "[", KeyText(entry.key()), "]"),
             leaves);
        continue;
      }
      Walk(entry.key(), absl::StrCat(path, ".keys()[", place, "]"), leaves);
      Walk(entry.value(), absl::StrCat(path, ".values()[", place, "]"), leaves);
    }
  } else {
    leaves.push_back({path, std::make_shared<c10::IValue>(
                                IsUndefined(value) ? c10::IValue() : value)});
  }
}

// Null for one without names. The elements don't matter: an undefined one has
// no type, while a tuple with names has its own already.
c10::TupleTypePtr NamedType(const c10::ivalue::Tuple& tuple) {
  const auto copy = c10::make_intrusive<c10::ivalue::Tuple>(tuple);
  copy->setElements(std::vector<c10::IValue>(tuple.size()));
  const c10::TupleTypePtr type = copy->type();
  return type->schema() ? type : nullptr;
}

}  // namespace

std::vector<Leaf> Leaves(const c10::IValue& value) {
  std::vector<Leaf> leaves;
  Walk(value, "", leaves);
  return leaves;
}

std::vector<at::Tensor> TensorLeaves(const c10::IValue& value) {
  std::vector<at::Tensor> tensors;
  for (const Leaf& leaf : Leaves(value)) {
    if (leaf.value->isTensor()) tensors.push_back(leaf.value->toTensor());
  }
  return tensors;
}

std::vector<at::Tensor> TensorLeaves(const ValueList& values) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : values.values()) {
    for (at::Tensor& tensor : TensorLeaves(value))
      tensors.push_back(std::move(tensor));
  }
  return tensors;
}

c10::IValue MapLeaves(
    const c10::IValue& value,
    const std::function<c10::IValue(const c10::IValue&)>& map) {
  if (value.isTuple()) {
    std::vector<c10::IValue> elements;
    for (const c10::IValue& element : value.toTupleRef().elements())
      elements.push_back(MapLeaves(element, map));
    if (c10::TupleTypePtr type = NamedType(value.toTupleRef()))
      return c10::ivalue::Tuple::createNamed(std::move(elements),
                                             std::move(type));
    return c10::ivalue::Tuple::create(std::move(elements));
  }
  if (value.isList()) {
    const auto list = value.toList();
    c10::impl::GenericList copy(list.elementType());
    for (size_t i = 0; i < list.size(); ++i)
      copy.push_back(MapLeaves(list.get(i), map));
    return copy;
  }
  if (value.isGenericDict()) {
    const auto dict = value.toGenericDict();
    c10::impl::GenericDict copy(dict.keyType(), dict.valueType());
    for (const auto& entry : dict) {
      c10::IValue key = entry.key();
      if (key.isTensor()) key = MapLeaves(key, map);
      copy.insert(std::move(key), MapLeaves(entry.value(), map));
    }
    return copy;
  }
  return map(value);
}

c10::IValue MapTensors(
    const c10::IValue& value,
    const std::function<at::Tensor(const at::Tensor&, int)>& map) {
  int index = 0;
  return MapLeaves(value, [&](const c10::IValue& leaf) -> c10::IValue {
    if (!leaf.isTensor() || IsUndefined(leaf)) return leaf;
    return map(leaf.toTensor(), index++);
  });
}

}  // namespace aitune::frontend
