// The compiler's phases as pass pipelines, top to bottom in the order they run.
#ifndef AITUNE_COMPILER_PIPELINES_PIPELINES_H
#define AITUNE_COMPILER_PIPELINES_PIPELINES_H

#include <string>

#include "compiler/fusion/FormKernels.h"
#include "compiler/pipelines/DeviceFacts.h"
#include "compiler/transforms/Passes.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

namespace aitune {

/// Registers every dialect that a module may contain in any phase.
void registerCompilerDialects(mlir::DialectRegistry &registry);

struct TransformOptions {
  DeviceFacts device = DeviceFacts::ofCpu(); ///< where the model will run
  bool uncheckedIndices = false; ///< CompileOptions::uncheckedIndices
  /// Returns the range of a constant of the pool, for checks of indices; may be
  /// null.
  ConstantRange constants;
  ConstantPool pool; ///< the constants of the module
};

/// Phase 1, on the imported module: makes operations fewer and simpler, and
/// chooses the layouts that kernels read fastest.
void buildTransformPipeline(mlir::OpPassManager &passManager,
                            const TransformOptions &options);

/// Phase 2: cuts the graph into kernels, each of which becomes a function.
/// `reject`, if it is not null, is called for each operation that could not be
/// fused with a neighbour, with the reason.
void buildFusionPipeline(mlir::OpPassManager &passManager,
                         RejectFunction reject);

/// Phase 3, on a module with one kernel: decides the types of arithmetic, and
/// writes loop kernels as linalg operations.
void buildKernelToLinalgPipeline(mlir::OpPassManager &passManager,
                                 bool emulateEagerCasts);

/// Phase 4, on a module with one kernel, for the CPU: makes vectorised loops
/// with the runtime's calling convention. `target` is a name for Target::named.
void buildKernelToLoopsPipeline(mlir::OpPassManager &passManager,
                                const std::string &target);

} // namespace aitune

#endif // AITUNE_COMPILER_PIPELINES_PIPELINES_H
