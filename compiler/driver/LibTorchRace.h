// Races a model's kernels against LibTorch's own operators.
//
// LibTorch is a candidate for every kernel, as libraries are, but one that the
// frontend has and that computes operators of the model, not operations of a
// kernel. So groups of kernels are compared with the operators that they were
// made of, and what LibTorch wins is imported again as its own.
#ifndef AITUNE_COMPILER_DRIVER_LIBTORCHRACE_H
#define AITUNE_COMPILER_DRIVER_LIBTORCHRACE_H

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/Compiler.h"
#include "compiler/candidates/CandidateChoice.h"
#include "compiler/candidates/CompilationTarget.h"
#include "mlir/IR/BuiltinOps.h"

namespace aitune {

/// What LibTorch runs faster than `chosen` does, of the kernels of `module`, a
/// fused one, that take a share of its time which matters. Each kind of kernel
/// is measured once. What was measured is appended to result.candidates; what
/// cannot be compared, with the reason, to result.rejections. An error: after a
/// measurement the device no longer works.
absl::StatusOr<std::vector<LibTorchWin>>
raceLibTorch(mlir::ModuleOp module, const ChosenKernels &chosen,
             const CompilationTarget &target,
             absl::Span<const ConstantTensor> constants,
             const CompileOptions &options, CompileResult &result);

/// Of all kernels' time, the part that `wins` are expected to save, from 0 to
/// 1.
double savedShare(const std::vector<LibTorchWin> &wins);

/// The operators of `wins`, each with the reason that reports give.
std::map<int64_t, std::string> reasonsOf(const std::vector<LibTorchWin> &wins);

} // namespace aitune

#endif // AITUNE_COMPILER_DRIVER_LIBTORCHRACE_H
