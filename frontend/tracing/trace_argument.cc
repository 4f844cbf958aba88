// Arguments of operators as plain data: by the schema's declared types.
#include <ATen/core/List.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/tracing/trace_builder.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

c10::TypePtr WithoutOptional(const c10::TypePtr& type) {
  const auto optional = type->cast<c10::OptionalType>();
  return optional ? optional->getElementType() : type;
}

// A number or string that is no container.
std::optional<Argument> ScalarToArgument(const c10::IValue& value,
                                         const c10::TypePtr& type,
                                         const c10::TypePtr& real_type) {
  if (value.isNone()) return Argument(NoneArgument{});
  if (value.isInt()) {
    if (real_type->kind() == c10::TypeKind::ScalarTypeType) {
      const int64_t number = value.toInt();
      if (number < 0 ||
          number >= static_cast<int64_t>(c10::ScalarType::NumOptions))
        return std::nullopt;
      const std::optional<DataType> dtype =
          FromScalarType(static_cast<c10::ScalarType>(number));
      if (!dtype) return std::nullopt;
      return Argument(ScalarTypeArgument{*dtype});
    }
    if (type->kind() == c10::TypeKind::FloatType)
      return Argument(static_cast<double>(value.toInt()));
    return Argument(SizeExpression(value.toInt()));
  }
  if (value.isDouble()) return Argument(value.toDouble());
  if (value.isBool()) return Argument(value.toBool());
  if (value.isString()) return Argument(value.toStringRef());
  if (value.isDevice()) return Argument(value.toDevice().str());
  return std::nullopt;
}

// A list from the arguments of its elements; `element` is the declared type.
std::optional<Argument> ListToArgument(
    const std::vector<std::optional<Argument>>& items,
    const c10::TypePtr& element) {
  const auto collect = [&](auto example) -> std::optional<Argument> {
    std::vector<decltype(example)> list;
    for (const std::optional<Argument>& item : items) {
      if (!item || !std::holds_alternative<decltype(example)>(*item))
        return std::nullopt;
      list.push_back(std::get<decltype(example)>(*item));
    }
    return Argument(std::move(list));
  };
  switch (WithoutOptional(element)->kind()) {
    case c10::TypeKind::TensorType: {
      std::vector<ValueId> list;
      for (const std::optional<Argument>& item : items) {
        if (item && std::holds_alternative<NoneArgument>(*item)) {
          list.push_back(-1);
        } else if (item && std::holds_alternative<ValueId>(*item)) {
          list.push_back(std::get<ValueId>(*item));
        } else {
          return std::nullopt;
        }
      }
      return Argument(std::move(list));
    }
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return collect(SizeExpression());
    case c10::TypeKind::FloatType:
      return collect(double{});
    case c10::TypeKind::BoolType:
      return collect(bool{});
    case c10::TypeKind::NumberType:
      if (std::optional<Argument> integers = collect(SizeExpression()))
        return integers;
      return collect(double{});
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Argument> ToArgument(const ArgumentTemplate& recipe,
                                   const c10::Argument& declaration) {
  const c10::TypePtr type = WithoutOptional(declaration.type());
  const c10::TypePtr real_type = WithoutOptional(declaration.real_type());
  const auto list_type = type->cast<c10::ListType>();
  switch (recipe.kind) {
    case ArgumentTemplate::Kind::kValue:
      return Argument(recipe.value);
    case ArgumentTemplate::Kind::kSize:
    case ArgumentTemplate::Kind::kFixed: {
      const bool is_list = recipe.kind == ArgumentTemplate::Kind::kFixed &&
                           recipe.fixed.isList();
      std::vector<std::optional<Argument>> items;
      if (is_list) {
        if (!list_type) return std::nullopt;
        for (const c10::IValue& item : recipe.fixed.toListRef()) {
          items.push_back(ScalarToArgument(item, list_type->getElementType(),
                                           list_type->getElementType()));
        }
        return ListToArgument(items, list_type->getElementType());
      }
      std::optional<Argument> scalar =
          recipe.kind == ArgumentTemplate::Kind::kSize
              ? Argument(recipe.size)
              : ScalarToArgument(recipe.fixed, type, real_type);
      // int[2] accepts one number for all.
      if (scalar && list_type &&
          !std::holds_alternative<NoneArgument>(*scalar)) {
        items.assign(static_cast<size_t>(declaration.N().value_or(1)), scalar);
        return ListToArgument(items, list_type->getElementType());
      }
      return scalar;
    }
    case ArgumentTemplate::Kind::kList: {
      if (!list_type) return std::nullopt;
      std::vector<std::optional<Argument>> items;
      const c10::Argument element("", list_type->getElementType());
      for (const ArgumentTemplate& child : recipe.children)
        items.push_back(ToArgument(child, element));
      return ListToArgument(items, list_type->getElementType());
    }
    case ArgumentTemplate::Kind::kTuple:
    case ArgumentTemplate::Kind::kDict:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace aitune::frontend
