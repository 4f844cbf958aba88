// Other candidates for the smaller sizes of a range.
//
// Candidates of a kernel with dynamic axes are generated for, and measured at,
// the largest sizes of their ranges. For a batch of one another tile, another
// split or another of a library's algorithms may be 1.4 times as fast
// (ResNet-50 and BERT for batches of 1 to 16, on an H100). So the choice is
// made again at some smaller sizes, and a kernel whose best candidate differs
// there gets alternatives, of which a call runs one (AlternativeProto). Kernels
// that launch one after the other on a GPU need nothing else. Weights are there
// once, unless alternatives read them in different orders.
#ifndef AITUNE_COMPILER_DRIVER_SIZEALTERNATIVES_H
#define AITUNE_COMPILER_DRIVER_SIZEALTERNATIVES_H

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "compiler/Compiler.h"
#include "compiler/candidates/CandidateChoice.h"
#include "compiler/candidates/CompilationTarget.h"
#include "compiler/candidates/Kernel.h"
#include "mlir/IR/BuiltinOps.h"

namespace aitune {

/// Values of the symbols at which to choose again, each smaller than the one
/// before it; the first is smaller than the upper bounds. None if the ranges
/// are short. `symbols` is ait.symbols (may be null).
std::vector<std::vector<int64_t>> sizesToChooseAt(mlir::ArrayAttr symbols);

/// One of several ways to run a kernel: at sizes up to `most`, by symbol.
struct SizeAlternative {
  std::vector<int64_t> most;
  KernelImplementation implementation;
};

/// `largest` with `alternatives`, which take its place at their sizes, the
/// smallest first. The kernel has `operands` inputs and results.
KernelImplementation
joinAlternatives(llvm::ArrayRef<SizeAlternative> alternatives,
                 const KernelImplementation &largest, int operands);

/// Chooses again for those of `kernels`, functions of `module`, whose work
/// depends on the sizes, and joins in `chosen.best` what is faster at smaller
/// sizes. Their candidates were chosen before. Appends the measurements to
/// result.candidates, under the kernel's name with the sizes, and wrong
/// candidates to result.wrong. A kernel without a candidate that is right at
/// smaller sizes keeps the one it has. Errors as chooseCandidates.
absl::Status chooseForSmallerSizes(mlir::ModuleOp module,
                                   llvm::ArrayRef<Kernel> kernels,
                                   CompilationTarget &target,
                                   absl::Span<const ConstantTensor> constants,
                                   const CompileOptions &options,
                                   ChosenKernels &chosen,
                                   CompileResult &result);

} // namespace aitune

#endif // AITUNE_COMPILER_DRIVER_SIZEALTERNATIVES_H
