// How the axes of a tensor correspond to those that a reshape gives it. Passes
// ask this to move a reshape behind another operation. Thread-safe.
#ifndef AITUNE_COMPILER_DIALECT_RESHAPEDSIZES_H
#define AITUNE_COMPILER_DIALECT_RESHAPEDSIZES_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mlir::ait {

/// A part of a reshape: axes [fromBegin, fromEnd) before it have the same
/// product of sizes as axes [toBegin, toEnd) after it.
struct ReshapeBlock {
  unsigned fromBegin, fromEnd, toBegin, toEnd;
};

/// The smallest blocks of the reshape from the sizes `from` to the sizes `to`,
/// in order, which have all axes of both. Not set if the numbers of elements
/// are not provably equal.
std::optional<SmallVector<ReshapeBlock>>
findReshapeBlocks(ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to);

/// A tensor of the sizes `source` is expanded (ait.expand) to the sizes `outer`
/// and then reshaped to `inner`. The sizes, without leading ones, to which
/// `source` can be reshaped first, so that an expansion to `inner` gives the
/// same tensor. Not set if there are none, as the reshape merges a broadcast
/// axis with another.
std::optional<SmallVector<AffineExpr>>
reshapeBroadcast(ArrayRef<AffineExpr> source, ArrayRef<AffineExpr> outer,
                 ArrayRef<AffineExpr> inner);

} // namespace mlir::ait

#endif // AITUNE_COMPILER_DIALECT_RESHAPEDSIZES_H
