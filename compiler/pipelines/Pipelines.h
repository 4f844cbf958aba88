// The compiler's phases as pass pipelines, top to bottom in the order they run.
#ifndef AITUNE_COMPILER_PIPELINES_PIPELINES_H
#define AITUNE_COMPILER_PIPELINES_PIPELINES_H

#include <string>

#include "compiler/fusion/FormKernels.h"
#include "compiler/transforms/Passes.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

namespace aitune {

/// Every dialect that a module of any phase may hold.
void registerCompilerDialects(mlir::DialectRegistry &registry);

struct TransformOptions {
  bool onCuda = false;
  /// As CompileOptions'.
  bool uncheckedIndices = false;
  /// What checks of indices may know of the pool; may be null.
  ConstantRange constants;
};

/// Phase 1, on the imported module: fewer and simpler operations, layouts that
/// the kernels like.
void buildTransformPipeline(mlir::OpPassManager &passManager,
                            const TransformOptions &options);

/// Phase 2: the graph cut into kernels, each a function. `reject`, if set, is
/// told of each operation that a neighbour could not take in, and why.
void buildFusionPipeline(mlir::OpPassManager &passManager,
                         RejectFunction reject);

/// Phase 3, on a module with one kernel: arithmetic types decided, loop kernels
/// as linalg.
void buildKernelToLinalgPipeline(mlir::OpPassManager &passManager,
                                 bool emulateEagerCasts);

/// Phase 4, on a module with one kernel: vectorised loops with the runtime's
/// calling convention. `target` is Target::named's name for the CPU.
void buildKernelToLoopsPipeline(mlir::OpPassManager &passManager,
                                const std::string &target);

} // namespace aitune

#endif // AITUNE_COMPILER_PIPELINES_PIPELINES_H
