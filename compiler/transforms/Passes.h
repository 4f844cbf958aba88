// The passes that rewrite the `ait` graph before fusion, and kernels after it.
#ifndef AITUNE_COMPILER_TRANSFORMS_PASSES_H
#define AITUNE_COMPILER_TRANSFORMS_PASSES_H

#include "compiler/support/ConstantPool.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

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

/// Returns the least and the greatest element of the integer constant `index`
/// of the pool; not set if it has no elements or its data is not known.
using ConstantRange =
    std::function<std::optional<std::pair<int64_t, int64_t>>(int64_t index)>;

/// The pass ait-relax-checks, which also uses the ranges of the pool's
/// constants.
std::unique_ptr<mlir::Pass> createRelaxChecks(RelaxChecksOptions options,
                                              ConstantRange constants);

/// The pass ait-fold-filters with the constants of `pool`; without them it does
/// nothing.
std::unique_ptr<mlir::Pass> createFoldFilters(ConstantPool pool);

/// Makes the passes of this folder known by their arguments (`-ait-...`).
void registerTransformsPasses();

} // namespace aitune

#endif // AITUNE_COMPILER_TRANSFORMS_PASSES_H
