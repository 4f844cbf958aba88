#include "frontend/tracing/size_function.h"

#include <ATen/Functions.h>
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/trace/leaf_value.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"
#include "runtime/tensor/size_constraint.h"

namespace aitune::frontend {
namespace {

using Kind = SizeFunction::Kind;

// Sets what `function` has of the programs in its arguments.
void NotePrograms(SizeFunction& function) {
  for (const SizeFunctionRef& argument : function.arguments) {
    function.has_program |= argument->has_program;
    function.irregular.insert(argument->irregular.begin(),
                              argument->irregular.end());
  }
}

std::vector<int> SymbolsOfAll(const std::vector<SizeFunctionRef>& functions) {
  std::set<int> symbols;
  for (const SizeFunctionRef& function : functions)
    symbols.insert(function->symbols.begin(), function->symbols.end());
  return {symbols.begin(), symbols.end()};
}

}  // namespace

SizeFunctionRef SizeFunction::Fixed(c10::IValue value) {
  auto function = std::make_shared<SizeFunction>();
  function->fixed = std::move(value);
  return function;
}

SizeFunctionRef SizeFunction::Size(const SizeExpression& size) {
  if (size.constant()) return Fixed(*size.constant());
  auto function = std::make_shared<SizeFunction>();
  function->kind = Kind::kSize;
  function->size = size;
  function->symbols = SymbolsOf(size);
  return function;
}

SizeFunctionRef SizeFunction::Shape(std::vector<SizeExpression> sizes,
                                    at::ScalarType dtype) {
  auto function = std::make_shared<SizeFunction>();
  function->kind = Kind::kShape;
  std::set<int> symbols;
  for (const SizeExpression& size : sizes) {
    const std::vector<int> read = SymbolsOf(size);
    symbols.insert(read.begin(), read.end());
  }
  function->symbols.assign(symbols.begin(), symbols.end());
  function->sizes = std::move(sizes);
  function->dtype = dtype;
  return function;
}

SizeFunctionRef SizeFunction::Call(const c10::FunctionSchema& schema,
                                   RecordedFunction run,
                                   std::vector<SizeFunctionRef> arguments,
                                   size_t index) {
  auto function = std::make_shared<SizeFunction>();
  function->kind = Kind::kCall;
  function->name = schema.name();
  function->run = std::move(run);
  function->takes_count = TakesArgumentCount(schema);
  function->symbols = SymbolsOfAll(arguments);
  function->arguments = std::move(arguments);
  NotePrograms(*function);
  function->index = index;
  return function;
}

SizeFunctionRef SizeFunction::Program(std::string name, RecordedFunction run,
                                      std::vector<SizeFunctionRef> arguments,
                                      size_t index,
                                      std::set<std::vector<int>> irregular) {
  auto function = std::make_shared<SizeFunction>();
  function->kind = Kind::kProgram;
  function->has_program = true;
  function->irregular = std::move(irregular);
  function->name = std::move(name);
  function->run = std::move(run);
  function->symbols = SymbolsOfAll(arguments);
  function->arguments = std::move(arguments);
  NotePrograms(*function);
  function->index = index;
  return function;
}

SizeFunctionRef SizeFunction::Call(const c10::OperatorHandle& handle,
                                   std::vector<SizeFunctionRef> arguments) {
  return Call(
      handle.schema(),
      [handle](std::vector<c10::IValue>& stack) { handle.callBoxed(stack); },
      std::move(arguments), /*index=*/0);
}

SizeFunctionRef SizeFunction::Element(SizeFunctionRef list, size_t index) {
  auto function = std::make_shared<SizeFunction>();
  function->kind = Kind::kElement;
  function->index = index;
  function->symbols = list->symbols;
  function->arguments = {std::move(list)};
  NotePrograms(*function);
  return function;
}

SizeFunctionRef SizeFunction::Container(Kind kind, c10::TypePtr type,
                                        std::vector<c10::IValue> keys,
                                        std::vector<SizeFunctionRef> elements) {
  auto function = std::make_shared<SizeFunction>();
  function->kind = kind;
  function->type = std::move(type);
  function->keys = std::move(keys);
  function->symbols = SymbolsOfAll(elements);
  function->arguments = std::move(elements);
  NotePrograms(*function);
  return function;
}

std::optional<SizeExpression> SizeFunction::Formula() const {
  if (kind == Kind::kSize) return size;
  if (kind == Kind::kFixed && fixed.isInt())
    return SizeExpression(fixed.toInt());
  if (kind != Kind::kElement) return std::nullopt;
  const SizeFunction& list = *arguments[0];
  if (IsListOfSizes(list) && index < list.arguments[0]->sizes.size())
    return list.arguments[0]->sizes[index];
  if ((list.kind == Kind::kList || list.kind == Kind::kTuple) &&
      index < list.arguments.size())
    return list.arguments[index]->Formula();
  return std::nullopt;
}

namespace {

// As Describe, but constants that differ at all have texts that do.
std::string NameOfConstant(const c10::IValue& value) {
  if (value.isDouble()) return absl::StrFormat("float64=%a", value.toDouble());
  if (value.isTensor() && value.toTensor().defined())
    return absl::StrCat(
        Describe(value), "@",
        reinterpret_cast<uintptr_t>(value.toTensor().unsafeGetTensorImpl()));
  if (!value.isList()) return Describe(value);
  std::string text = "[";
  for (const c10::IValue& element : value.toListRef())
    absl::StrAppend(&text, NameOfConstant(element), ",");
  return text + "]";
}

}  // namespace

std::string SizeFunction::Describe() const {
  switch (kind) {
    case Kind::kFixed:
      return NameOfConstant(fixed);
    case Kind::kSize:
      return size.ToString();
    case Kind::kShape: {
      std::string text = absl::StrCat(static_cast<int>(dtype), "[");
      for (const SizeExpression& axis : sizes)
        absl::StrAppend(&text, axis.ToString(), ",");
      return text + "]";
    }
    case Kind::kCall:
    case Kind::kProgram:
    case Kind::kElement:
      return absl::StrCat(name, "@", reinterpret_cast<uintptr_t>(this));
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
      break;
  }
  std::string text = "(";
  for (const SizeFunctionRef& argument : arguments)
    absl::StrAppend(&text, argument->Describe(), ",");
  return text + ")";
}

absl::StatusOr<c10::IValue> SizeEvaluator::Evaluate(
    const SizeFunctionRef& function) {
  switch (function->kind) {
    case Kind::kFixed:
      return function->fixed;
    case Kind::kSize:
      return c10::IValue(function->size.Evaluate(point_));
    default:
      break;
  }
  if (const auto known = known_.find(function.get()); known != known_.end())
    return known->second;
  AITUNE_ASSIGN_OR_RETURN(c10::IValue value, Make(*function));
  known_.emplace(function.get(), value);
  return value;
}

namespace {

// The elements of a tensor that a program is given where it must really run.
constexpr int64_t kMostElements = int64_t{1} << 21;

// Whether a tensor of these sizes has more than `most` elements.
bool IsMoreThan(absl::Span<const int64_t> sizes, int64_t most) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return false;
  for (const int64_t size : sizes) most /= size;
  return most == 0;
}

// A list of tensors, with zeros for those without memory; other values as they
// are. kUnavailable if it would have too many elements.
absl::StatusOr<c10::IValue> WithMemory(const c10::IValue& value) {
  if (!value.isTensorList()) return value;
  int64_t elements = 0;
  c10::List<at::Tensor> list;
  for (const at::Tensor& tensor : value.toTensorVector()) {
    elements += tensor.is_meta() ? tensor.numel() : 0;
    if (elements > kMostElements)
      return absl::UnavailableError("a list has too many elements");
    list.push_back(
        tensor.is_meta()
            ? at::zeros(tensor.sizes(), tensor.options().device(at::kCPU))
            : tensor);
  }
  return list;
}

}  // namespace

c10::IValue WithoutMemory(const c10::IValue& value) {
  if (!value.isTensorList()) return value;
  c10::List<at::Tensor> list;
  for (const at::Tensor& tensor : value.toTensorVector())
    list.push_back(at::empty_like(tensor, tensor.options().device(at::kMeta)));
  return list;
}

absl::StatusOr<c10::IValue> SizeEvaluator::Make(const SizeFunction& function) {
  if (function.kind == Kind::kShape) {
    std::vector<int64_t> sizes;
    for (const SizeExpression& size : function.sizes)
      sizes.push_back(size.Evaluate(point_));
    if (std::any_of(sizes.begin(), sizes.end(),
                    [](int64_t size) { return size < 0; }))
      return absl::InvalidArgumentError("a size would be negative");
    if (real_ && IsMoreThan(sizes, most_elements_))
      return absl::UnavailableError("a tensor has too many elements");
    // Zeros as in the probes, in place of a scale and a zero point.
    if (c10::isQIntType(function.dtype)) {
      if (!real_)
        return absl::UnavailableError("quantised tensors have memory");
      return c10::IValue(at::quantize_per_tensor(
          at::zeros(sizes), /*scale=*/1, /*zero_point=*/0, function.dtype));
    }
    const at::TensorOptions options = at::TensorOptions()
                                          .dtype(function.dtype)
                                          .device(real_ ? at::kCPU : at::kMeta);
    return c10::IValue(real_ ? at::zeros(sizes, options)
                             : at::empty(sizes, options));
  }
  std::vector<c10::IValue> arguments;
  for (const SizeFunctionRef& argument : function.arguments) {
    AITUNE_ASSIGN_OR_RETURN(c10::IValue value, Evaluate(argument));
    arguments.push_back(std::move(value));
  }
  switch (function.kind) {
    case Kind::kCall: {
      AITUNE_RETURN_IF_ERROR(CatchExceptions(
          absl::StatusCode::kInvalidArgument, function.name, [&] {
            if (function.takes_count)
              arguments.emplace_back(static_cast<int64_t>(arguments.size()));
            function.run(arguments);
            return absl::OkStatus();
          }));
      if (function.index >= arguments.size())
        return absl::InvalidArgumentError(
            absl::StrCat(function.name, " gives too few results"));
      return arguments[function.index];
    }
    case Kind::kProgram: {
      const absl::Status ran =
          CatchExceptions(absl::StatusCode::kUnavailable, function.name, [&] {
            function.run(arguments);
            return absl::OkStatus();
          });
      if (ran.ok() && function.index < arguments.size()) {
        const c10::IValue& value = arguments[function.index];
        return real_ ? WithMemory(value) : WithoutMemory(value);
      }
      if (real_)
        return absl::UnavailableError("a part of the program does not run");
      // It may have tensors of its own, which have memory.
      AITUNE_ASSIGN_OR_RETURN(
          const c10::IValue value,
          SizeEvaluator(point_, /*real=*/true, kMostElements).Make(function));
      return WithoutMemory(value);
    }
    case Kind::kElement: {
      const c10::IValue& list = arguments[0];
      const c10::ArrayRef<c10::IValue> elements =
          list.isTuple()
              ? c10::ArrayRef<c10::IValue>(list.toTupleRef().elements())
              : list.toListRef();
      if (function.index >= elements.size())
        return absl::InvalidArgumentError("a list would be shorter");
      return elements[function.index];
    }
    case Kind::kList: {
      c10::impl::GenericList list(
          function.type->expect<c10::ListType>()->getElementType());
      for (c10::IValue& element : arguments) list.push_back(std::move(element));
      return c10::IValue(list);
    }
    case Kind::kTuple:
      return c10::IValue(c10::ivalue::Tuple::create(std::move(arguments)));
    case Kind::kDict: {
      const auto type = function.type->expect<c10::DictType>();
      c10::impl::GenericDict dict(type->getKeyType(), type->getValueType());
      for (size_t i = 0; i < arguments.size(); ++i)
        dict.insert(function.keys[i], arguments[i]);
      return c10::IValue(dict);
    }
    default:
      break;
  }
  return absl::InternalError("no such function of sizes");
}

bool IsListOfSizes(const SizeFunction& function) {
  return function.kind == Kind::kCall && function.arguments.size() == 1 &&
         function.arguments[0]->kind == Kind::kShape &&
         (function.name == "aten::size" || function.name == "prim::shape");
}

bool SamePlainValue(const c10::IValue& a, const c10::IValue& b) {
  if (a.tagKind() != b.tagKind()) return false;
  if (a.isDouble()) return SameNumber(a.toDouble(), b.toDouble());
  if (a.isInt() || a.isBool() || a.isString() || a.isNone() || a.isDevice())
    return a == b;
  if (a.isList() || a.isTuple()) {
    const auto elements = [](const c10::IValue& value) {
      return value.isTuple() ? value.toTupleRef().elements().vec()
                             : value.toListRef().vec();
    };
    const std::vector<c10::IValue> left = elements(a), right = elements(b);
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      SamePlainValue);
  }
  return a.is(b);
}

}  // namespace aitune::frontend
