// Decides which operations one loop kernel can compute.
//
// A loop kernel walks one iteration domain, which has the sizes of its largest
// values, and reduces along at most one set of its axes. That suffices for a
// softmax, a layer norm or a chain of pointwise operations, and the code
// generator can keep the values in registers and cache.
#ifndef AITUNE_COMPILER_FUSION_LOOPLEGALITY_H
#define AITUNE_COMPILER_FUSION_LOOPLEGALITY_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>

namespace aitune {

/// The iteration domain of a loop kernel.
struct LoopDomain {
  llvm::SmallVector<mlir::AffineExpr> sizes; ///< elements of each axis
  /// For each axis, whether reductions run along it.
  llvm::SmallVector<bool> reduced;
};

/// The domain of a kernel made of `operations` (in block order) and the
/// recomputed operations that they read. Not set if one kernel cannot compute
/// them; `reason` then says why. `escapes` returns whether a value is read
/// outside of the kernel.
std::optional<LoopDomain>
findLoopDomain(llvm::ArrayRef<mlir::Operation *> operations,
               llvm::function_ref<bool(mlir::Value)> escapes,
               std::string &reason);

} // namespace aitune

#endif // AITUNE_COMPILER_FUSION_LOOPLEGALITY_H
