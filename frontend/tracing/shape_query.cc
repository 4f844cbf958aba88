// What decides the sizes of a call's results: the sizes of its arguments and,
// where LibTorch can't do without them, the elements of those that sizes give.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

using Kind = ProbedValue::Kind;

// Whether the value is really zeros where it is made up.
bool IsOfZeros(const SizeFunction& function) {
  return function.has_program || (function.kind == SizeFunction::Kind::kShape &&
                                  c10::isQIntType(function.dtype));
}

}  // namespace

std::optional<ShapeQuery> Interpreter::MakeShapeQuery(const Invocation& call) {
  if (region_.ranges().empty()) return std::nullopt;
  ShapeQuery query;
  query.schema = call.schema;
  query.run = call.run;
  for (const ProbedRef& argument : call.arguments) {
    SizeFunctionRef shape = ShapeOf(argument);
    if (shape == nullptr) return std::nullopt;
    // In which order its elements are is not known.
    query.unknown_strides |= NeedsView(*call.schema) && HasOpaque(*argument);
    if (NeedsView(*call.schema) && argument->IsTensor()) {
      const auto strided = StridedShapeOf(*argument);
      query.unknown_strides |= !strided;
      if (strided) shape = *strided;
    }
    query.symbols.insert(query.symbols.end(), shape->symbols.begin(),
                         shape->symbols.end());
    query.irregular.insert(shape->irregular.begin(), shape->irregular.end());
    query.shapes.push_back(std::move(shape));
  }
  query.reads_elements = ReadsElements(query);
  if (query.reads_elements) {
    AddContents(call, query);
    for (const SizeFunctionRef& content : query.contents)
      query.symbols.insert(query.symbols.end(), content->symbols.begin(),
                           content->symbols.end());
  }
  std::sort(query.symbols.begin(), query.symbols.end());
  query.symbols.erase(std::unique(query.symbols.begin(), query.symbols.end()),
                      query.symbols.end());
  return query;
}

bool Interpreter::ReadsElements(const ShapeQuery& query) {
  // Of what is behind a program's lists, zeros do.
  if (std::any_of(query.shapes.begin(), query.shapes.end(),
                  [](const SizeFunctionRef& s) { return IsOfZeros(*s); }))
    return false;
  const auto [found, is_new] = reads_elements_.try_emplace(NameOf(query));
  if (is_new) {
    // LibTorch finds the sizes without elements, or it can't.
    ShapeQuery without = query;
    without.contents = query.shapes;
    found->second = {FindShapes(without, region_.anchor()).real, query.shapes};
  }
  return found->second.first;
}

std::string Interpreter::NameOf(const ShapeQuery& query) {
  std::string name =
      absl::StrCat(query.schema->name(), ".", query.schema->overload_name());
  for (const SizeFunctionRef& shape : query.shapes)
    absl::StrAppend(&name, ";", shape->Describe());
  if (query.reads_elements) {
    for (const SizeFunctionRef& content : query.contents)
      absl::StrAppend(&name, ";", content->Describe());
  }
  return name;
}

void Interpreter::AddContents(const Invocation& call, ShapeQuery& query) const {
  if (!query.contents.empty()) return;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    SizeFunctionRef content = FunctionOf(call.arguments[i]);
    query.contents.push_back(content != nullptr ? content : query.shapes[i]);
  }
}

SizeFunctionRef Interpreter::ShapeOf(const ProbedRef& value) const {
  if (value->IsTensor() && value->has_type)
    return SizeFunction::Shape(value->type.sizes,
                               ToScalarType(value->type.dtype));
  if (value->kind == Kind::kOpaque) {
    if (value->is_list_of_known) return value->function;
    if (!value->has_sizes) return nullptr;
    const at::Tensor& tensor = value->tensor();
    const at::ScalarType type = tensor.scalar_type();
    // What has a scale for each row is more than sizes and a dtype.
    const bool is_quantised =
        c10::isQIntType(type) && tensor.qscheme() == at::kPerTensorAffine;
    if (!at::isComplexType(type) && !FromScalarType(type) && !is_quantised)
      return nullptr;
    return SizeFunction::Shape(value->type.sizes, type);
  }
  if (value->kind == Kind::kList || value->kind == Kind::kTuple) {
    std::vector<SizeFunctionRef> elements;
    for (const ProbedRef& element : value->elements) {
      elements.push_back(ShapeOf(element));
      if (elements.back() == nullptr) return nullptr;
    }
    return SizeFunction::Container(value->kind == Kind::kList
                                       ? SizeFunction::Kind::kList
                                       : SizeFunction::Kind::kTuple,
                                   value->type_hint, {}, std::move(elements));
  }
  return FunctionOf(value);
}

}  // namespace aitune::frontend
