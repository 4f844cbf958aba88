// Searches the schedules of a model's generated kernels within a budget, or
// takes what the tuning database knows of them.
#ifndef AITUNE_COMPILER_PIPELINES_TUNESCHEDULES_H
#define AITUNE_COMPILER_PIPELINES_TUNESCHEDULES_H

#include <vector>

#include "compiler/Compiler.h"
#include "compiler/pipelines/Kernel.h"

namespace aitune {

/// Sets ait.config of the kernels for which a better schedule than the default
/// is known or found, and fills result.tuning. Sets the `cuts` of kernels that
/// may be faster as two: all that are worth measuring in a search, otherwise
/// those that a search found. Problems (no database, no
/// measuring process) never fail the build: they end the search and stand in
/// result.tuning.note. `constantBytes` is the size of the model's weights: if
/// the caches do not hold them, candidates are measured with cold caches.
void tuneSchedules(std::vector<Kernel> &kernels, mlir::ArrayAttr symbols,
                   int64_t constantBytes, const CompileOptions &options,
                   CompileResult &result);

/// After a search, when implementations have been chosen: keeps `chosenCut` of
/// the kernels for which cuts were measured in the database. Problems stand in
/// result.tuning.note.
void keepCuts(std::vector<Kernel> &kernels, mlir::ArrayAttr symbols,
              int64_t constantBytes, const CompileOptions &options,
              CompileResult &result);

} // namespace aitune

#endif // AITUNE_COMPILER_PIPELINES_TUNESCHEDULES_H
