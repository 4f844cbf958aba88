// The patterns of the pass ait-simplify, in groups, of which the pass
// ait-layout has one too.
#ifndef AITUNE_COMPILER_TRANSFORMS_SIMPLIFYPATTERNS_H
#define AITUNE_COMPILER_TRANSFORMS_SIMPLIFYPATTERNS_H

#include "mlir/IR/PatternMatch.h"

namespace aitune {

/// Arithmetic with fills: folding, identities, powers, exact reciprocals,
/// conversions. None changes a result, NaN and signed zeros included.
void populateArithmeticPatterns(mlir::RewritePatternSet &patterns);

/// Moves permutes below reshapes that take nothing apart which was next to each
/// other before the permute.
void populatePermutePatterns(mlir::RewritePatternSet &patterns);

/// Moves permutes as populatePermutePatterns does, reshapes below operations
/// that work the same on reshaped operands, and broadcasts below pointwise
/// operations, until they cancel or are in a place where they cost nothing.
void populateViewPatterns(mlir::RewritePatternSet &patterns);

/// Rewrites contractions so that their kernels can read the operands fast:
/// shared weights of rank 2, and rows in memory order. Products of a row or a
/// column become sums: few of them where `threadsShareSums`, as a GPU's do.
void populateContractionPatterns(mlir::RewritePatternSet &patterns,
                                 bool threadsShareSums);

} // namespace aitune

#endif // AITUNE_COMPILER_TRANSFORMS_SIMPLIFYPATTERNS_H
