// Which operations one loop kernel can compute.
//
// A loop kernel walks one iteration domain, the sizes of its widest values,
// and reduces at most one set of its axes. That is what a row of softmax, a
// layer norm or a pointwise chain needs, and what the code generator can keep
// in registers and cache.
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
  llvm::SmallVector<mlir::AffineExpr> sizes;
  /// One flag an axis: whether reductions run along it.
  llvm::SmallVector<bool> reduced;
};

/// The domain of a kernel made of `operations` (in block order) and the
/// recomputed operations they read. None, with a reason in `reason`, if one
/// kernel cannot compute them. `escapes` tells whether a value is read outside.
std::optional<LoopDomain>
findLoopDomain(llvm::ArrayRef<mlir::Operation *> operations,
               llvm::function_ref<bool(mlir::Value)> escapes,
               std::string &reason);

} // namespace aitune

#endif // AITUNE_COMPILER_FUSION_LOOPLEGALITY_H
