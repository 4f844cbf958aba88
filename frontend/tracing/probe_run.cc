#include "frontend/tracing/probe_run.h"

#include <ATen/Functions.h>

#include <exception>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/values/missing_kernel.h"
#include "frontend/values/pytree.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

// Elements of the operands together.
constexpr int64_t kLarge = int64_t{1} << 20;

// What tensors of `type` become where `missing` has no kernel; null: they stay.
std::optional<c10::ScalarType> Widened(c10::ScalarType type,
                                       c10::ScalarType missing) {
  if (at::isIntegralType(missing, /*includeBool=*/true)) {
    if (type != missing) return std::nullopt;
    return at::kDouble;
  }
  if (type == at::kHalf || type == at::kBFloat16) return at::kFloat;
  if (type == at::kComplexHalf) return at::kComplexFloat;
  return std::nullopt;
}

// Another tensor of the same sizes and dtype.
using Replacement = at::Tensor (*)(const at::Tensor&);

bool IsInteger(const at::Tensor& tensor) {
  return at::isIntegralType(tensor.scalar_type(), /*includeBool=*/false);
}

// Divisors.
at::Tensor WithoutZeros(const at::Tensor& tensor) {
  return IsInteger(tensor) ? tensor.masked_fill(tensor == 0, 1) : tensor;
}

// Indices into tables of any size; masks that select nothing.
at::Tensor Zeros(const at::Tensor& tensor) {
  return tensor.is_floating_point() ? tensor : at::zeros_like(tensor);
}

// Lengths that no size is too small for; probabilities.
at::Tensor Ones(const at::Tensor& tensor) {
  return at::full_like(tensor, tensor.is_floating_point() ? 0.5 : 1.);
}

// Matrices that have an inverse and all factors.
at::Tensor Identity(const at::Tensor& tensor) {
  if (!tensor.is_floating_point() || tensor.dim() < 2) return tensor;
  at::Tensor identity = at::zeros_like(tensor);
  identity.diagonal(0, -2, -1).fill_(1);
  return identity;
}

}  // namespace

std::string DescribeCall(const c10::FunctionSchema& schema,
                         const std::vector<c10::IValue>& arguments) {
  constexpr size_t kMostArguments = 6;
  std::vector<std::string> texts;
  for (const c10::IValue& argument : arguments) {
    if (texts.size() < kMostArguments) texts.push_back(Describe(argument));
  }
  return absl::StrCat(schema.name(), "(", absl::StrJoin(texts, ", "), ")");
}

bool IsSlowOnCpu(const c10::FunctionSchema& schema,
                 const std::vector<c10::IValue>& stack) {
  static const auto* const kContractions = new std::set<std::string>{
      "aten::linear",       "aten::matmul",
      "aten::mm",           "aten::bmm",
      "aten::addmm",        "aten::baddbmm",
      "aten::conv1d",       "aten::conv2d",
      "aten::conv3d",       "aten::convolution",
      "aten::_convolution", "aten::scaled_dot_product_attention"};
  if (kContractions->count(schema.name()) == 0) return false;
  int64_t elements = 0;
  for (const c10::IValue& value : stack) {
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    const at::Tensor& tensor = value.toTensor();
    if (tensor.scalar_type() == at::kHalf ||
        tensor.scalar_type() == at::kBFloat16) {
      elements += tensor.numel();
    }
  }
  return elements >= kLarge;
}

at::Tensor ZerosOfAttention(const at::Tensor& query, const at::Tensor& value) {
  std::vector<int64_t> sizes = query.sizes().vec();
  sizes.back() = value.size(-1);
  return at::zeros(sizes, query.options());
}

void RunForShapes(const c10::FunctionSchema& schema,
                  const std::function<void(std::vector<c10::IValue>&)>& run,
                  std::vector<c10::IValue>& stack) {
  if (schema.name() == "aten::scaled_dot_product_attention") {
    stack.assign(1, ZerosOfAttention(stack[0].toTensor(), stack[2].toTensor()));
    return;
  }
  // LibTorch has no convolution without elements; in float32 it is fast.
  const bool convolution = schema.name().find("conv") != std::string::npos;
  c10::ScalarType type = at::kHalf;
  for (c10::IValue& value : stack) {
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    type = value.toTensor().scalar_type();
    value = convolution ? value.toTensor().to(at::kFloat)
                        : value.toTensor().to(at::kMeta);
  }
  run(stack);
  for (c10::IValue& value : stack) {
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    value = convolution
                ? value.toTensor().to(type)
                : at::zeros(value.toTensor().sizes(),
                            value.toTensor().options().device(at::kCPU));
  }
}

void RunOrWiden(const std::function<void(std::vector<c10::IValue>&)>& run,
                std::vector<c10::IValue>& stack) {
  const std::vector<c10::IValue> arguments = stack;
  c10::ScalarType missing;
  try {
    return run(stack);
  } catch (const std::exception& error) {
    const auto named = MissingDtype(TextOf(error));
    if (!named || !Widened(*named, *named)) throw;
    missing = *named;
  }
  const bool is_integer = at::isIntegralType(missing, /*includeBool=*/true);
  bool is_bfloat16 = false;
  stack.clear();
  for (const c10::IValue& argument : arguments)
    stack.push_back(MapTensors(argument, [&](const at::Tensor& tensor, int) {
      if (!tensor.defined()) return tensor;
      is_bfloat16 |= tensor.scalar_type() == at::kBFloat16;
      const auto type = Widened(tensor.scalar_type(), missing);
      return type ? tensor.to(*type) : tensor;
    }));
  run(stack);
  for (c10::IValue& value : stack)
    value = MapTensors(value, [&](const at::Tensor& tensor, int) {
      if (!tensor.defined()) return tensor;
      const c10::ScalarType type = tensor.scalar_type();
      if (is_integer) return type == at::kDouble ? tensor.to(missing) : tensor;
      if (type == at::kComplexFloat) return tensor.to(at::kComplexHalf);
      return type == at::kFloat
                 ? tensor.to(is_bfloat16 ? at::kBFloat16 : at::kHalf)
                 : tensor;
    });
}

void AddTensors(const c10::IValue& value,
                std::unordered_set<const at::TensorImpl*>& tensors) {
  MapTensors(value, [&](const at::Tensor& tensor, int) {
    if (tensor.defined()) tensors.insert(tensor.unsafeGetTensorImpl());
    return tensor;
  });
}

void RunWithMadeUpElements(
    const std::unordered_set<const at::TensorImpl*>& made_up,
    const std::function<void(std::vector<c10::IValue>&)>& run,
    std::vector<c10::IValue>& stack) {
  const std::vector<c10::IValue> arguments = stack;
  std::exception_ptr raised;
  try {
    return run(stack);
  } catch (const std::exception&) {
    raised = std::current_exception();
  }
  for (const Replacement replace : {&WithoutZeros, &Zeros, &Ones, &Identity}) {
    try {
      stack = arguments;
      for (size_t i = 0; i < stack.size(); ++i) {
        // What is divided stays.
        if (replace == &WithoutZeros && i == 0) continue;
        stack[i] = MapTensors(stack[i], [&](const at::Tensor& tensor, int) {
          return tensor.defined() && IsPlainTensor(tensor) &&
                         made_up.count(tensor.unsafeGetTensorImpl()) > 0
                     ? replace(tensor)
                     : tensor;
        });
      }
      return run(stack);
    } catch (const std::exception&) {
    }
  }
  std::rethrow_exception(raised);
}

}  // namespace aitune::frontend
