// Rewrites of the `ait` graph before fusion, and of kernels after it.
#ifndef AITUNE_COMPILER_TRANSFORMS_PASSES_H
#define AITUNE_COMPILER_TRANSFORMS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace mlir {
namespace ait {
class AitDialect;
} // namespace ait
namespace func {
class FuncDialect;
} // namespace func
} // namespace mlir

namespace aitune {

#define GEN_PASS_DECL
#include "compiler/transforms/Passes.h.inc"

/// Makes the passes of this folder known by their arguments (`-ait-...`).
void registerTransformsPasses();

} // namespace aitune

#endif // AITUNE_COMPILER_TRANSFORMS_PASSES_H
