// Leaves to LibTorch what it runs faster than the kernels of a compiled model,
// where the whole model is faster for it.
#ifndef AITUNE_COMPILER_DRIVER_LIBTORCHEXCHANGE_H
#define AITUNE_COMPILER_DRIVER_LIBTORCHEXCHANGE_H

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/Compiler.h"
#include "compiler/candidates/CandidateChoice.h"
#include "compiler/candidates/CompilationTarget.h"
#include "compiler/measure/Measure.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace aitune {

/// A model that was compiled, and what its kernels became.
struct CompiledKernels {
  mlir::ModuleOp module;
  const ChosenKernels &chosen;
  const CompilationTarget &target;
  /// All constants, the new ones too.
  absl::Span<const ConstantTensor> constants;
};

/// The result of a second compilation, and its constants with the new ones,
/// which live as long as those of the first.
struct CompiledAgain {
  CompileResult result;
  absl::Span<const ConstantTensor> constants;
};

/// Whether a model with LibTorch's operators, which took `exchanged`, is
/// clearly faster than its kernels alone: in the median and in the fastest run,
/// as what disturbs a machine for some tenths of a second may slow either
/// model. A model that failed is not.
bool isWorthExchanging(const Measurement &kernels,
                       const Measurement &exchanged);

/// `own`, which is of `model`, or what `compileAgain` makes of the module
/// without the operators that LibTorch runs faster, whichever is faster as a
/// whole. What was measured is in the result's reports. An error on the way is
/// a rejection there: `own` stays. An error: LibTorch's operators, or what runs
/// beside them, left the device unusable.
absl::StatusOr<CompileResult> exchangeWithLibTorch(
    CompileResult own, const CompiledKernels &model,
    const CompileOptions &options,
    llvm::function_ref<absl::StatusOr<CompiledAgain>(mlir::ModuleOp)>
        compileAgain);

} // namespace aitune

#endif // AITUNE_COMPILER_DRIVER_LIBTORCHEXCHANGE_H
