// The exceptions to the rule that a compiled model gives what eager gives, in
// particular the same NaNs and infinities.
//
// An exception is made only where eager's own result depends on the kernel that
// LibTorch happens to choose for a device, a vector width or a dtype. The check
// makes these and no other:
//
//   Masked NaN and infinities. Eager multiplies a masked value by the weight 0,
//     and 0 * NaN is NaN, as is 0 times an infinity: one in a position that a
//     causal mask hides shows up in outputs that do not depend on it, where the
//     kernel multiplies instead of leaving out. LibTorch's own leave out whole
//     blocks, of other sizes on each device (512 keys on a CPU). Code that
//     never reads a masked value gives the right number. To tell such an output
//     from a NaN that the compiler lost, the model is asked: an element depends
//     on the inputs that are not finite only if it changes when they do
//     (ReplaceIndependentNans).
//   Lost NaN. LibTorch's fused attention for CPUs takes a row of scores that
//     holds a NaN for one that is masked throughout, and gives zeros; its plain
//     attention, and its GPU's, keep the NaN (WithPlainAttention).
//   Rows that are masked throughout. For float16 and bfloat16 on an H200 eager
//     takes cuDNN's attention, which gives such a row of a boolean mask the
//     softmax without the mask (PyTorch 2.11); LibTorch's other kernels, on all
//     devices, give zeros, as ours do. An additive mask of the least float16 is
//     the softmax without the mask in all of them (WithPlainAttention).
//   Overflow of eager alone. Eager rounds to the tensor's dtype between two
//     operators, and its vector kernels overflow earlier than its scalar ones
//     (cosh, for one). Where the run in higher precision is finite ours may be
//     too, if it is near that (verification.h). Nor is it finite where the
//     wider kernel is not, or NaN where that is infinite: GELU of an infinity
//     is NaN in LibTorch's vectors of float32 and bfloat16, infinite in its
//     others.
#ifndef AITUNE_FRONTEND_CHECK_NAN_DEPENDENCE_H_
#define AITUNE_FRONTEND_CHECK_NAN_DEPENDENCE_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "frontend/torchscript/model.h"

namespace aitune::frontend {

// One call of a model.
using RunFunction =
    std::function<absl::StatusOr<c10::IValue>(const ValueList& arguments)>;

struct WithoutOwnNans {
  // Eager's result, with a number for each NaN that ours does not have and
  // that does not depend on the inputs that are not finite.
  std::shared_ptr<const c10::IValue> result;
  int64_t replaced = 0;  // the number of elements that were replaced
};

// `eager` and `ours` are results for `arguments`, of which some are not finite.
// Runs the model in eager four times more, with different numbers instead of
// these, and returns its errors. Replaces nothing if the results have different
// structures.
absl::StatusOr<WithoutOwnNans> ReplaceIndependentNans(
    const RunFunction& run_eager, const ValueList& arguments,
    const c10::IValue& eager, const c10::IValue& ours);

// The result of `run_eager` while LibTorch's fused kernels for attention are
// off on all devices, in the whole process.
absl::StatusOr<c10::IValue> WithPlainAttention(const RunFunction& run_eager,
                                               const ValueList& arguments);

// Whether no dense floating-point tensor of `arguments` holds NaN or an
// infinity.
bool AllFinite(const ValueList& arguments);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECK_NAN_DEPENDENCE_H_
