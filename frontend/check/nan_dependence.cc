#include "frontend/check/nan_dependence.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <utility>
#include <vector>

#include "frontend/check/dense_numbers.h"
#include "frontend/values/pytree.h"

namespace aitune::frontend {
namespace {

absl::StatusOr<c10::IValue> RunWith(const RunFunction& run_eager,
                                    const ValueList& arguments,
                                    double in_place_of_nan) {
  std::vector<c10::IValue> changed;
  for (const c10::IValue& value : arguments.values()) {
    changed.push_back(
        MapTensors(value, [&](const at::Tensor& tensor, int) -> at::Tensor {
          if (!tensor.is_floating_point()) return tensor;
          return tensor.masked_fill(tensor.isnan(), in_place_of_nan);
        }));
  }
  return run_eager(ValueList(std::move(changed)));
}

}  // namespace

absl::StatusOr<WithoutOwnNans> ReplaceIndependentNans(
    const RunFunction& run_eager, const ValueList& arguments,
    const c10::IValue& eager, const c10::IValue& ours) {
  absl::StatusOr<c10::IValue> zero = RunWith(run_eager, arguments, 0);
  if (!zero.ok()) return zero.status();
  absl::StatusOr<c10::IValue> one = RunWith(run_eager, arguments, 1);
  if (!one.ok()) return one.status();
  const std::vector<at::Tensor> with_zero = TensorLeaves(*zero),
                                with_one = TensorLeaves(*one),
                                mine = TensorLeaves(ours);
  WithoutOwnNans without;
  without.result = std::make_shared<const c10::IValue>(
      MapTensors(eager, [&](const at::Tensor& tensor, int index) -> at::Tensor {
        const size_t i = index;
        if (!tensor.is_floating_point() || !IsDenseNumbers(tensor) ||
            i >= with_zero.size() || i >= with_one.size() || i >= mine.size() ||
            !IsDenseNumbers(mine[i]) ||
            with_zero[i].sizes() != tensor.sizes() ||
            with_one[i].sizes() != tensor.sizes() ||
            mine[i].sizes() != tensor.sizes()) {
          return tensor;
        }
        const at::Tensor own =
            tensor.isnan()
                .logical_and(mine[i].isfinite().to(tensor.device()))
                .logical_and(with_zero[i].eq(with_one[i]));
        without.replaced += own.sum().item<int64_t>();
        return at::where(own, with_zero[i], tensor);
      }));
  return without;
}

absl::StatusOr<c10::IValue> WithPlainAttention(const RunFunction& run_eager,
                                               const ValueList& arguments) {
  at::Context& context = at::globalContext();
  const bool flash = context.userEnabledFlashSDP(),
             efficient = context.userEnabledMemEfficientSDP(),
             cudnn = context.userEnabledCuDNNSDP();
  context.setSDPUseFlash(false);
  context.setSDPUseMemEfficient(false);
  context.setSDPUseCuDNN(false);
  absl::StatusOr<c10::IValue> result = run_eager(arguments);
  context.setSDPUseFlash(flash);
  context.setSDPUseMemEfficient(efficient);
  context.setSDPUseCuDNN(cudnn);
  return result;
}

bool HasNan(const ValueList& arguments) {
  for (const c10::IValue& value : arguments.values()) {
    for (const at::Tensor& tensor : TensorLeaves(value)) {
      if (tensor.defined() && tensor.is_floating_point() &&
          tensor.isnan().any().item<bool>()) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace aitune::frontend
