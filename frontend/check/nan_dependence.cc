#include "frontend/check/nan_dependence.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "frontend/check/dense_numbers.h"
#include "frontend/values/pytree.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// What stands for an input that is not finite. Of both signs and on both sides
// of the bounds that models clamp at, so that an element which depends on it
// takes more than one value.
constexpr double kNumbers[] = {0, 1, 300, -300};

absl::StatusOr<c10::IValue> RunWith(const RunFunction& run_eager,
                                    const ValueList& arguments, double number) {
  std::vector<c10::IValue> changed;
  for (const c10::IValue& value : arguments.values()) {
    changed.push_back(
        MapTensors(value, [&](const at::Tensor& tensor, int) -> at::Tensor {
          if (!tensor.is_floating_point() || !IsDenseNumbers(tensor))
            return tensor;
          return tensor.masked_fill(tensor.isfinite().logical_not(), number);
        }));
  }
  return run_eager(ValueList(std::move(changed)));
}

}  // namespace

absl::StatusOr<WithoutOwnNans> ReplaceIndependentNans(
    const RunFunction& run_eager, const ValueList& arguments,
    const c10::IValue& eager, const c10::IValue& ours) {
  std::vector<std::vector<at::Tensor>> runs;
  for (const double number : kNumbers) {
    AITUNE_ASSIGN_OR_RETURN(const c10::IValue run,
                            RunWith(run_eager, arguments, number));
    runs.push_back(TensorLeaves(run));
  }
  const std::vector<at::Tensor> mine = TensorLeaves(ours);
  WithoutOwnNans without;
  without.result = std::make_shared<const c10::IValue>(
      MapTensors(eager, [&](const at::Tensor& tensor, int index) -> at::Tensor {
        const size_t i = index;
        const auto is_alike = [&](const std::vector<at::Tensor>& leaves) {
          return i < leaves.size() && IsDenseNumbers(leaves[i]) &&
                 leaves[i].sizes() == tensor.sizes();
        };
        if (!tensor.is_floating_point() || !IsDenseNumbers(tensor) ||
            !is_alike(mine) || !std::all_of(runs.begin(), runs.end(), is_alike))
          return tensor;
        const at::Tensor& with_first = runs.front()[i];
        at::Tensor own =
            tensor.isnan().logical_and(mine[i].isfinite().to(tensor.device()));
        for (const std::vector<at::Tensor>& run : runs)
          own = own.logical_and(run[i].eq(with_first));
        without.replaced += own.sum().item<int64_t>();
        return at::where(own, with_first, tensor);
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

bool AllFinite(const ValueList& arguments) {
  const std::vector<at::Tensor> tensors = TensorLeaves(arguments);
  return std::all_of(
      tensors.begin(), tensors.end(), [](const at::Tensor& tensor) {
        return !tensor.defined() || !tensor.is_floating_point() ||
               !IsDenseNumbers(tensor) || tensor.isfinite().all().item<bool>();
      });
}

}  // namespace aitune::frontend
