// Bounds of sizes over the ranges of a module's symbols. The value at the
// greatest sizes is no bound: `s0 mod 16` is 2 at 130 and 15 at 127.
// Thread-safe.
#ifndef AITUNE_COMPILER_DIALECT_SIZEBOUNDS_H
#define AITUNE_COMPILER_DIALECT_SIZEBOUNDS_H

#include <cstdint>
#include <optional>

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace mlir::ait {

/// Beyond this, and below its negative, no bound is formed.
inline constexpr int64_t kMostSizeBound = int64_t{1} << 62;

/// Both ends included.
struct SizeBounds {
  int64_t low, high;
};

/// Bounds of `size`, an expression without dimensions, by interval arithmetic,
/// so that they may be wider than its values. `symbols` are those of
/// getModuleSymbols, which may be null. Not set where a symbol has no range, a
/// bound is beyond kMostSizeBound, or a division may be by a number that is not
/// positive.
std::optional<SizeBounds> getSizeBounds(AffineExpr size, ArrayAttr symbols);

} // namespace mlir::ait

#endif // AITUNE_COMPILER_DIALECT_SIZEBOUNDS_H
