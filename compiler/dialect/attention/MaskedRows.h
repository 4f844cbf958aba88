// What an ait.attention gives for a query that no key takes part for, all of
// whose scores are -infinity: 0, as aten::scaled_dot_product_attention, or NaN,
// as a softmax of such a row. Kernels for GPUs give 0 in both cases.
#ifndef AITUNE_COMPILER_DIALECT_ATTENTION_MASKEDROWS_H
#define AITUNE_COMPILER_DIALECT_ATTENTION_MASKEDROWS_H

#include "compiler/dialect/Ait.h"

namespace mlir::ait {

/// An attribute of the operation that passes may drop together with it only.
inline constexpr char kMaskedRowsAreNan[] = "masked_rows_are_nan";

inline void setMaskedRowsAreNan(AttentionOp op) {
  op->setAttr(kMaskedRowsAreNan, UnitAttr::get(op->getContext()));
}

/// Whether setMaskedRowsAreNan was called for this operation, or for that which
/// it is a copy of.
inline bool areMaskedRowsNan(AttentionOp op) {
  return op->hasAttr(kMaskedRowsAreNan);
}

} // namespace mlir::ait

#endif // AITUNE_COMPILER_DIALECT_ATTENTION_MASKEDROWS_H
