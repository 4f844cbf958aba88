// The passes of fusion: they decide which operations run in one kernel, and
// turn kernels into functions.
#ifndef AITUNE_COMPILER_FUSION_PASSES_H
#define AITUNE_COMPILER_FUSION_PASSES_H

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
#include "compiler/fusion/Passes.h.inc"

/// Makes the passes of this folder known by their arguments (`-ait-...`).
void registerFusionPasses();

} // namespace aitune

#endif // AITUNE_COMPILER_FUSION_PASSES_H
