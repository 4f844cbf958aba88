#include "compiler/dialect/ReshapedSizes.h"

#include "compiler/dialect/Ait.h"
#include "llvm/ADT/STLExtras.h"

namespace mlir::ait {

/// Whether `product` is smaller than `target` for large values of the symbols:
/// then more axes of its shape may make them equal.
static bool mayGrowTo(AffineExpr product, AffineExpr target) {
  auto sample = [](AffineExpr size) {
    MLIRContext *context = size.getContext();
    SmallVector<AffineExpr> values;
    size.walk([&](AffineExpr expr) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
        while (values.size() <= symbol.getPosition())
          values.push_back(
              getAffineConstantExpr(1009 + 2 * values.size(), context));
    });
    auto value = dyn_cast<AffineConstantExpr>(size.replaceSymbols(values));
    return value ? value.getValue() : 0;
  };
  return sample(product) < sample(target);
}

std::optional<SmallVector<ReshapeBlock>>
findReshapeBlocks(ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to) {
  SmallVector<ReshapeBlock> blocks;
  unsigned i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    ReshapeBlock block = {i, i, j, j};
    if (i < from.size() && j < to.size()) {
      AffineExpr left = canonicalizeSize(from[i++]);
      AffineExpr right = canonicalizeSize(to[j++]);
      while (left != right) {
        if (i < from.size() && (mayGrowTo(left, right) || j == to.size()))
          left = canonicalizeSize(left * from[i++]);
        else if (j < to.size())
          right = canonicalizeSize(right * to[j++]);
        else
          return std::nullopt;
      }
    } else if (i < from.size()) {
      if (from[i++] != 1)
        return std::nullopt;
    } else if (to[j++] != 1) {
      return std::nullopt;
    }
    block.fromEnd = i;
    block.toEnd = j;
    blocks.push_back(block);
  }
  return blocks;
}

std::optional<SmallVector<AffineExpr>>
reshapeBroadcast(ArrayRef<AffineExpr> source, ArrayRef<AffineExpr> outer,
                 ArrayRef<AffineExpr> inner) {
  auto blocks = findReshapeBlocks(outer, inner);
  if (!blocks || source.size() > outer.size())
    return std::nullopt;
  MLIRContext *context = outer.empty() ? nullptr : outer.front().getContext();
  if (!context)
    return std::nullopt;
  SmallVector<AffineExpr> aligned(outer.size() - source.size(),
                                  getAffineConstantExpr(1, context));
  llvm::append_range(aligned, source);
  SmallVector<AffineExpr> result;
  for (const ReshapeBlock &block : *blocks) {
    bool whole = true, single = true;
    for (unsigned axis = block.fromBegin; axis < block.fromEnd; ++axis) {
      whole &= canonicalizeSize(aligned[axis]) == canonicalizeSize(outer[axis]);
      single &= aligned[axis] == 1;
    }
    if (whole)
      result.append(inner.begin() + block.toBegin, inner.begin() + block.toEnd);
    else if (single)
      result.append(block.toEnd - block.toBegin,
                    getAffineConstantExpr(1, context));
    else
      return std::nullopt;
  }
  // Leading ones are what an expansion adds by itself.
  auto firstKept =
      llvm::find_if(result, [](AffineExpr size) { return size != 1; });
  result.erase(result.begin(), firstKept);
  return result;
}

} // namespace mlir::ait
