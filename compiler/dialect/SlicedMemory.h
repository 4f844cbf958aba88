// Slices whose elements are one run of the memory of what they are slices of:
// steps of a sequence, or channels of one image. Nothing need copy these.
#ifndef AITUNE_COMPILER_DIALECT_SLICEDMEMORY_H
#define AITUNE_COMPILER_DIALECT_SLICEDMEMORY_H

#include <optional>

#include "compiler/dialect/Ait.h"

namespace mlir::ait {

/// The number of elements of the input, which is dense, before the first one of
/// `slice`, an expression over the module's symbols. Not set where the slice is
/// not one run of the input's memory or may begin at an address that is no
/// multiple of 16 bytes beyond the input's: kernels for a GPU, and libraries,
/// read as many at once.
std::optional<AffineExpr> findOffsetInMemory(SliceOp slice);

} // namespace mlir::ait

#endif // AITUNE_COMPILER_DIALECT_SLICEDMEMORY_H
