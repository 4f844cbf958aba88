// The last step of a search: runs the whole model with the schedules that were
// found and with the default ones.
//
// Kernels are searched one at a time, with the contents of caches and the state
// of threads that they may not find in a model. So the schedules that were
// found are used only if the model as a whole is not slower with them. A small
// model is also tried on one thread, which saves the synchronisation of threads
// at every step.
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

/// Changes the plan so that each of its kernels runs on one thread.
void useOneThread(ExecutablePlan &plan);

/// The variant of a searched model that is used.
struct ModelChoice {
  /// Whether the model runs on one thread.
  bool oneThread = false;
  /// Whether it uses only the default schedules.
  bool keepsDefaults = false;
};

/// Measures the model `main`, whose module has the attribute ait.symbols
/// `symbols`, with the schedules that the search found and with the default
/// ones, for about `seconds`; a small model also on one thread, if the target
/// has several. Appends the measurements to result.candidates, and sets
/// result.tuning.note if the defaults are kept. A model with steps that
/// LibTorch runs cannot be run here and uses the schedules that were found.
/// Errors: those of building or loading a variant.
absl::StatusOr<ModelChoice>
chooseModel(mlir::func::FuncOp main, mlir::ArrayAttr symbols,
            const ChosenKernels &kernels, const CompilationTarget &target,
            absl::Span<const ConstantTensor> constants, double seconds,
            CompileResult &result);

/// The variant to use: `preferred`, unless another's confidence interval ends
/// below that of `preferred`; of several such variants, the fastest.
size_t chooseVariant(absl::Span<const Measurement> measured, size_t preferred);

} // namespace aitune

#endif // AITUNE_COMPILER_TUNE_MODELCHOICE_H
