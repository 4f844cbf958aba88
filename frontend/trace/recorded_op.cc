#include "frontend/trace/recorded_op.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>

#include <iterator>
#include <utility>

namespace aitune::frontend {

ArgumentTemplate ArgumentTemplate::Fixed(c10::IValue value) {
  ArgumentTemplate recipe;
  recipe.fixed = std::move(value);
  return recipe;
}

ArgumentTemplate ArgumentTemplate::Value(ValueId value) {
  ArgumentTemplate recipe;
  recipe.kind = Kind::kValue;
  recipe.value = value;
  return recipe;
}

ArgumentTemplate ArgumentTemplate::Size(SizeExpression size) {
  if (size.constant()) return Fixed(*size.constant());
  ArgumentTemplate recipe;
  recipe.kind = Kind::kSize;
  recipe.size = std::move(size);
  return recipe;
}

ArgumentTemplate ArgumentTemplate::IntList(
    const std::vector<SizeExpression>& sizes) {
  ArgumentTemplate recipe;
  recipe.kind = Kind::kList;
  recipe.type = c10::IntType::get();
  for (const SizeExpression& size : sizes)
    recipe.children.push_back(Size(size));
  return recipe;
}

c10::IValue Materialize(const ArgumentTemplate& recipe,
                        absl::Span<const int64_t> symbols,
                        const std::function<c10::IValue(ValueId)>& read) {
  using Kind = ArgumentTemplate::Kind;
  switch (recipe.kind) {
    case Kind::kFixed:
      return recipe.fixed;
    case Kind::kValue:
      return read(recipe.value);
    case Kind::kSize:
      return recipe.size.Evaluate(symbols);
    default: {
      std::vector<c10::IValue> elements;
      elements.reserve(recipe.children.size());
      for (const ArgumentTemplate& child : recipe.children)
        elements.push_back(Materialize(child, symbols, read));
      return MakeContainer(recipe, absl::MakeSpan(elements));
    }
  }
}

c10::IValue MakeContainer(const ArgumentTemplate& recipe,
                          absl::Span<c10::IValue> elements) {
  using Kind = ArgumentTemplate::Kind;
  if (recipe.kind == Kind::kList) {
    c10::impl::GenericList list(recipe.type);
    list.reserve(elements.size());
    for (c10::IValue& element : elements) list.push_back(std::move(element));
    return list;
  }
  if (recipe.kind == Kind::kDict) {
    const auto type = recipe.type->expect<c10::DictType>();
    c10::impl::GenericDict dict(type->getKeyType(), type->getValueType());
    for (size_t i = 0; i < recipe.keys.size(); ++i)
      dict.insert(recipe.keys[i], std::move(elements[i]));
    return dict;
  }
  std::vector<c10::IValue> parts(std::make_move_iterator(elements.begin()),
                                 std::make_move_iterator(elements.end()));
  if (recipe.type)
    return c10::ivalue::Tuple::createNamed(
        std::move(parts), recipe.type->expect<c10::TupleType>());
  return c10::ivalue::Tuple::create(std::move(parts));
}

void CollectValues(const ArgumentTemplate& recipe,
                   std::vector<ValueId>& values) {
  if (recipe.kind == ArgumentTemplate::Kind::kValue)
    values.push_back(recipe.value);
  for (const ArgumentTemplate& child : recipe.children)
    CollectValues(child, values);
}

}  // namespace aitune::frontend
