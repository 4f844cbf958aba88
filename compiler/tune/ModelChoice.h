// The last word of a search: the whole model, with what was found and without.
//
// Kernels are searched one at a time, with caches and threads that a model need
// not leave them in. So what was found is used only if the model as a whole is
// not slower with it; and a small model is also tried on one thread, which
// spares it the handing over of every step.
#ifndef AITUNE_COMPILER_TUNE_MODELCHOICE_H
#define AITUNE_COMPILER_TUNE_MODELCHOICE_H

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/Compiler.h"
#include "compiler/candidates/CandidateChoice.h"
#include "compiler/candidates/CompilationTarget.h"
#include "compiler/measure/Measure.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

/// Leaves no step of the plan more than one thread.
void useOneThread(ExecutablePlan &plan);

/// What is taken of a searched model.
struct ModelChoice {
  /// The plan runs on one thread.
  bool oneThread = false;
  /// Nothing that the search found is used.
  bool keepsDefaults = false;
};

/// Measures `main`, as the module `symbols` belong to, with what the search
/// found and without, for about `seconds`; a small model also on one thread,
/// where the target has several. What was measured is appended to
/// result.candidates; why defaults stay is result.tuning.note. A model that
/// cannot be run here, because steps of it are LibTorch's, takes what was
/// found. Errors: those of building or loading a variant.
absl::StatusOr<ModelChoice>
chooseModel(mlir::func::FuncOp main, mlir::ArrayAttr symbols,
            const ChosenKernels &kernels, const CompilationTarget &target,
            absl::Span<const ConstantTensor> constants, double seconds,
            CompileResult &result);

/// The variant to take: `preferred`, unless another is faster than its
/// confidence interval tells; of several such, the fastest.
size_t chooseVariant(absl::Span<const Measurement> measured, size_t preferred);

} // namespace aitune

#endif // AITUNE_COMPILER_TUNE_MODELCHOICE_H
