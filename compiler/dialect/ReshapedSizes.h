// How a broadcast looks after the broadcast tensor was reshaped.
#ifndef AITUNE_COMPILER_DIALECT_RESHAPEDSIZES_H
#define AITUNE_COMPILER_DIALECT_RESHAPEDSIZES_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mlir::ait {

/// A reshape as a list of blocks: axes [fromBegin, fromEnd) of the one shape
/// hold the same elements as axes [toBegin, toEnd) of the other.
struct ReshapeBlock {
  unsigned fromBegin, fromEnd, toBegin, toEnd;
};

/// The finest blocks in which `from` becomes `to`, covering all axes of both;
/// none if their element counts are not provably equal. Axes of size 1 are
/// attached to a neighbour.
std::optional<SmallVector<ReshapeBlock>>
findReshapeBlocks(ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to);

/// `source` expands to `outer`, which is reshaped to `inner`: the sizes that
/// `source` can be reshaped to so that expanding it to `inner` gives the same.
/// None if there are none (a broadcast axis was merged with another).
std::optional<SmallVector<AffineExpr>>
reshapeBroadcast(ArrayRef<AffineExpr> source, ArrayRef<AffineExpr> outer,
                 ArrayRef<AffineExpr> inner);

} // namespace mlir::ait

#endif // AITUNE_COMPILER_DIALECT_RESHAPEDSIZES_H
