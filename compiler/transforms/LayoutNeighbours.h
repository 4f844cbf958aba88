// What decides about the order of an image's axes: convolutions, pools and
// upsamples, and what stands between them. Kernels read channels-last images
// fastest, but an operation that no other wants them for would pay for two
// permutes.
#ifndef AITUNE_COMPILER_TRANSFORMS_LAYOUTNEIGHBOURS_H
#define AITUNE_COMPILER_TRANSFORMS_LAYOUTNEIGHBOURS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace aitune {

/// Convolutions, pools and upsamples: the operations that choose the layout.
bool choosesLayout(mlir::Operation *op);

/// Whether nothing that is connected with `start`, through operations that keep
/// the order of axes, chooses a layout, but operations that `agrees` accepts,
/// and nothing permutes axes.
bool standsAlone(mlir::Operation *start,
                 llvm::function_ref<bool(mlir::Operation *)> agrees);

} // namespace aitune

#endif // AITUNE_COMPILER_TRANSFORMS_LAYOUTNEIGHBOURS_H
