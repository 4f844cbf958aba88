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

/// Sets ait.config and `defaultConfig` of the kernels for which it finds a
/// better schedule than the default, `cuts` of the kernels for which it is
/// worth measuring whether two kernels are faster, and result.tuning; warns,
/// and adds to result.rejections, of what plug-ins' schedules are left out. An
/// error means that nothing could be measured any more; the results until then
/// are kept. `module` contains the kernels, `constants` is its pool. Takes
/// about options.tuning.budgetSeconds.
absl::Status tuneSchedules(std::vector<Kernel> &kernels, mlir::ModuleOp module,
                           absl::Span<const ConstantTensor> constants,
                           CompilationTarget &target,
                           const TuningChoices &choices,
                           const CompileOptions &options,
                           CompileResult &result);

} // namespace aitune

#endif // AITUNE_COMPILER_TUNE_TUNESCHEDULES_H
