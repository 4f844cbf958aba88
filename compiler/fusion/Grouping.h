// The two steps of grouping operations into kernels, in the order in which they
// run: first contractions take their epilogues, because each epilogue saves a
// whole pass over memory; then the remaining operations are grouped into loops.
#ifndef AITUNE_COMPILER_FUSION_GROUPING_H
#define AITUNE_COMPILER_FUSION_GROUPING_H

#include "compiler/fusion/KernelGraph.h"

namespace aitune {

/// Lets each contraction of `graph` take the pointwise operations that follow
/// it, and an attention the permute of its result. Rewrites
/// pointwise(reshape(x)) to reshape(pointwise(x)) where that makes an epilogue
/// longer. Calls `reject` with the operation that ended each epilogue.
void groupEpilogues(KernelGraph &graph, const RejectFunction &reject);

/// Merges neighbouring loops while one kernel can compute them. Calls `reject`
/// for each pair of neighbours that stays apart.
void groupLoops(KernelGraph &graph, const RejectFunction &reject);

} // namespace aitune

#endif // AITUNE_COMPILER_FUSION_GROUPING_H
