// The patterns of ait-simplify, by what they move or remove.
#ifndef AITUNE_COMPILER_TRANSFORMS_SIMPLIFYPATTERNS_H
#define AITUNE_COMPILER_TRANSFORMS_SIMPLIFYPATTERNS_H

#include "mlir/IR/PatternMatch.h"

namespace aitune {

/// Arithmetic with fills: folding, identities, powers, exact reciprocals,
/// conversions. None changes a result, NaN and signed zeros included.
void populateArithmeticPatterns(mlir::RewritePatternSet &patterns);

/// Moves reshapes below what does not mind them, and broadcasts below
/// pointwise operations, so that both cancel, or end where they are free.
void populateViewPatterns(mlir::RewritePatternSet &patterns);

/// Gives contractions the operands that their kernels read best: shared
/// weights of rank 2, rows in memory order.
void populateContractionPatterns(mlir::RewritePatternSet &patterns);

} // namespace aitune

#endif // AITUNE_COMPILER_TRANSFORMS_SIMPLIFYPATTERNS_H
