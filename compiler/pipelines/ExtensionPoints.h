// The points of the pipelines at which passes of plug-ins run. Plug-ins
// register the passes (compiler/plugin/Plugin.h), and the pipelines add them.
//
// Only a plug-in's function should register; registering is not thread-safe
// while something is compiled.
#ifndef AITUNE_COMPILER_PIPELINES_EXTENSIONPOINTS_H
#define AITUNE_COMPILER_PIPELINES_EXTENSIONPOINTS_H

#include <functional>
#include <memory>

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace aitune {

/// A point of the pipelines.
enum class PassPoint {
  AfterImport,     ///< the graph in @main, as it was imported
  AfterTransforms, ///< simplified, normalisations taken apart, layouts chosen
  AfterFusion,     ///< @main launches kernels, each a function of its own
  BeforeCodegen,   ///< a module with one kernel, just before its code is made
};

using PassFactory = std::function<std::unique_ptr<mlir::Pass>()>;

/// Runs the pass at `point` of each compilation, after those registered before
/// it. A pass on func.func runs on each function; others are on the module or
/// on any operation. A factory that gives null, a pass on something else, or
/// one that throws an exception is an error of each compilation, which names
/// the plug-in. Not caught is what is thrown on MLIR's threads where a pass
/// runs a pass manager of its own.
void registerPass(PassPoint point, PassFactory factory);

/// For the pipelines: adds the passes that are registered for `point`.
void addRegisteredPasses(PassPoint point, mlir::OpPassManager &passManager);

} // namespace aitune

#endif // AITUNE_COMPILER_PIPELINES_EXTENSIONPOINTS_H
