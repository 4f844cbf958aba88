// Searches the schedules of a model's generated kernels within a budget.
#ifndef AITUNE_COMPILER_TUNE_TUNESCHEDULES_H
#define AITUNE_COMPILER_TUNE_TUNESCHEDULES_H

#include <vector>

#include "compiler/Compiler.h"
#include "compiler/candidates/CompilationTarget.h"
#include "compiler/candidates/Kernel.h"
#include "compiler/tune/TuningChoices.h"
#include "mlir/IR/BuiltinOps.h"

namespace aitune {

/// Sets ait.config of the kernels for which a better schedule than the default
/// is found (and their `defaultConfig`), and fills result.tuning. Sets the
/// `cuts` of kernels that may be faster as two: those worth measuring. After an
/// error (nothing that measures) what was found until then stands.
/// `module` holds the kernels, `constants` is its pool.
absl::Status tuneSchedules(std::vector<Kernel> &kernels, mlir::ModuleOp module,
                           absl::Span<const ConstantTensor> constants,
                           CompilationTarget &target,
                           const TuningChoices &choices,
                           const CompileOptions &options,
                           CompileResult &result);

} // namespace aitune

#endif // AITUNE_COMPILER_TUNE_TUNESCHEDULES_H
