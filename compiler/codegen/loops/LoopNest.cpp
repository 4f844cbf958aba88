#include "compiler/codegen/loops/LoopNest.h"

#include "compiler/dialect/KernelAttributes.h"
#include "compiler/dialect/SizeBounds.h"

using namespace mlir;

namespace aitune {
void LoopGroup::add(unsigned dim, const DimTable &table) {
  dims.push_back(dim);
  size = canonical(size * table.size(dim));
}

void appendAxis(SmallVectorImpl<LoopGroup> &groups, unsigned dim,
                const DimTable &dims,
                llvm::function_ref<bool(unsigned, unsigned)> canMerge) {
  if (!groups.empty() && canMerge(groups.back().dims.back(), dim))
    groups.back().add(dim, dims);
  else
    groups.push_back({{dim}, dims.size(dim)});
}

SmallVector<unsigned> LoopNest::openAxes(DimTable &dims) {
  SmallVector<unsigned> domain;
  for (AffineExpr size : sizes) {
    if (size == 1) {
      index.push_back(getAffineConstantExpr(0, size.getContext()));
      continue;
    }
    index.push_back(dims.make(size));
    domain.push_back(cast<AffineDimExpr>(index.back()).getPosition());
  }
  return domain;
}

bool LoopNest::isOfDomain(ArrayRef<AffineExpr> exprs) const {
  return llvm::all_of(exprs, [&](AffineExpr expr) {
    return llvm::all_of(dimsOf(expr), [&](unsigned dim) {
      return llvm::is_contained(index,
                                getAffineDimExpr(dim, expr.getContext()));
    });
  });
}

void LoopNest::visit(LoopAnalysis &analysis) const {
  for (const KernelOutput &output : outputs) {
    SmallVector<AffineExpr> exprs = indexOf(output);
    auto type = cast<RankedTensorType>(output.value.getType());
    analysis.visit(output.value, exprs);
    analysis.accesses.push_back(
        {decompose(linearize(type, exprs)), false,
         type.getElementType().getIntOrFloatBitWidth()});
    analysis.cost += 1;
  }
}

SmallVector<AffineExpr> LoopNest::indexOf(const KernelOutput &output) const {
  SmallVector<AffineExpr> exprs(index);
  for (auto [expr, size] : llvm::zip(exprs, sizesOf(output.value)))
    if (size == 1)
      expr = getAffineConstantExpr(0, expr.getContext());
  return exprs;
}

bool LoopNest::isFull(const KernelOutput &output) const {
  return llvm::all_of(llvm::zip(sizes, sizesOf(output.value)), [](auto pair) {
    return std::get<0>(pair) == std::get<1>(pair);
  });
}

/// Whether `size` is 0 for some sizes of the module's symbols.
static bool mayBeZero(AffineExpr size, ArrayAttr symbols) {
  std::optional<mlir::ait::SizeBounds> bounds =
      mlir::ait::getSizeBounds(size, symbols);
  return !bounds || bounds->low <= 0;
}

std::vector<LoopNest> groupOutputs(Operation *terminator) {
  std::vector<LoopNest> nests;
  auto module = terminator->getParentOfType<ModuleOp>();
  auto symbols = module ? mlir::ait::getModuleSymbols(module) : ArrayAttr();
  for (auto [number, result] : llvm::enumerate(terminator->getOperands())) {
    KernelOutput output{stripReshapes(result), static_cast<unsigned>(number)};
    SmallVector<AffineExpr> sizes = sizesOf(output.value);
    LoopNest *joined = nullptr;
    for (LoopNest &nest : nests) {
      bool fits = nest.sizes.size() == sizes.size() &&
                  llvm::all_of(llvm::zip(nest.sizes, sizes), [&](auto pair) {
                    auto [mine, theirs] = pair;
                    // A domain without points would compute no output, and one
                    // that does not change along an empty axis has elements.
                    return mine == theirs ||
                           (mine == 1 && !mayBeZero(theirs, symbols)) ||
                           (theirs == 1 && !mayBeZero(mine, symbols));
                  });
      if (fits && !joined)
        joined = &nest;
    }
    if (!joined) {
      nests.emplace_back();
      joined = &nests.back();
      joined->sizes = sizes;
    }
    for (auto [mine, theirs] : llvm::zip(joined->sizes, sizes))
      if (mine == 1)
        mine = theirs;
    joined->outputs.push_back(output);
  }
  return nests;
}

} // namespace aitune
