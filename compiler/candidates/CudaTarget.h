// The ways to run kernels on a GPU: code of ours through NVRTC, cuBLASLt and
// cuDNN, and the choice between them by running them.
#ifndef AITUNE_COMPILER_CANDIDATES_CUDACANDIDATES_H
#define AITUNE_COMPILER_CANDIDATES_CUDACANDIDATES_H

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/Compiler.h"
#include "compiler/candidates/Kernel.h"
#include "compiler/codegen/gpu/target/GpuTarget.h"
#include "compiler/measure/Measure.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/cuda/device.h"
#include "llvm/ADT/ArrayRef.h"

namespace aitune {

struct CudaCandidateOptions {
  bool emulateEagerCasts = false;
  /// As in CompileOptions.
  bool tf32Matmul = false, tf32Convolution = true;
  std::string dumpDirectory;
  int threads = 1;
  /// Called once while kernels are compiled, if there are matmuls: loads the
  /// library that is to be measured beside them.
  std::function<void()> meanwhile;
  /// Called with the number done and of all.
  std::function<void(const char *phase, int done, int total)> progress;
};

/// Fills in the candidates of each kernel, best guess first, and what was
/// refused with the reason in `result.rejections`. Text is generated and
/// compiled on all threads; equal texts are compiled once.
void addCudaCandidates(llvm::MutableArrayRef<Kernel> kernels,
                       mlir::ModuleOp module, const GpuTarget &target,
                       const CudaCandidateOptions &options,
                       CompileResult &result);

/// The position of the fastest candidate; -1 if none was right.
int fastest(absl::Span<const Measurement> measured);

/// Whether cuDNN's convolutions may be faster than all of these, so that making
/// them ready, a third of a second each, is worth it.
bool mayLoseToCudnn(absl::Span<const Measurement> measured);

/// For each kernel the position of its fastest correct candidate, measured on
/// `device`; what was measured is appended to result.candidates. A kernel whose
/// candidates all fail keeps none: its position is -1 and
/// Kernel::generatedFailure says why.
std::vector<int> chooseCudaCandidates(
    llvm::MutableArrayRef<Kernel> kernels, mlir::ModuleOp module,
    const cuda::Device &device, absl::Span<const ConstantTensor> constants,
    const CudaCandidateOptions &options, CompileResult &result);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_CUDACANDIDATES_H
