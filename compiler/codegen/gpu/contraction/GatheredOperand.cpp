#include "compiler/codegen/gpu/contraction/GatheredOperand.h"

#include "compiler/codegen/gpu/text/CudaScalar.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace aitune {
namespace {

/// An address as the sum of its parts.
struct SplitAddress {
  AffineExpr batch, row, step;
};

bool isDimOf(unsigned dim, AffineExpr of) {
  auto position = dyn_cast<AffineDimExpr>(of);
  return position && position.getPosition() == dim;
}

std::optional<SplitAddress> split(const LinearForm &address,
                                  ArrayRef<AffineExpr> rowDims,
                                  AffineExpr reduced) {
  AffineExpr zero = getAffineConstantExpr(0, address.constant.getContext());
  SplitAddress parts{address.constant, zero, zero};
  for (const LinearForm::Term &term : address.terms) {
    bool hasStep = false, hasRow = false, hasOther = false;
    for (unsigned dim : dimsOf(term.term)) {
      const bool isRow = llvm::any_of(
          rowDims, [&](AffineExpr of) { return isDimOf(dim, of); });
      (isDimOf(dim, reduced) ? hasStep : isRow ? hasRow : hasOther) = true;
    }
    if (hasStep + hasRow + hasOther > 1)
      return std::nullopt;
    AffineExpr &part = hasStep ? parts.step : hasRow ? parts.row : parts.batch;
    part = part + term.term * term.coefficient;
  }
  return parts;
}

/// Whether `term`, a quotient or remainder of a dim or of another such, is the
/// same for all indices of a chunk, or their remainders are neighbours: what
/// counts elements is divided by whole chunks only.
bool dividesByChunks(AffineExpr term, int64_t chunk) {
  SmallVector<AffineBinaryOpExpr> outerFirst;
  while (auto binary = dyn_cast<AffineBinaryOpExpr>(term)) {
    outerFirst.push_back(binary);
    term = binary.getLHS();
  }
  if (!isa<AffineDimExpr>(term))
    return false;
  for (AffineBinaryOpExpr binary : llvm::reverse(outerFirst)) {
    const std::optional<int64_t> by = getConstant(binary.getRHS());
    const bool isQuotient = binary.getKind() == AffineExprKind::FloorDiv;
    if (!by || *by % chunk != 0 ||
        (!isQuotient && binary.getKind() != AffineExprKind::Mod))
      return false;
    // From here on chunks or more are counted, not elements.
    if (isQuotient)
      return true;
  }
  return true;
}

/// Whether each chunk of a row is 16 neighbouring and aligned bytes.
bool isInChunks(const LinearForm &address, AffineExpr reduced,
                AffineExpr reducedSize, int64_t chunk) {
  auto position = dyn_cast<AffineDimExpr>(reduced);
  if (!position || !reducedSize.isMultipleOf(chunk) ||
      !address.constant.isMultipleOf(chunk))
    return false;
  bool hasNeighbours = false;
  for (const LinearForm::Term &term : address.terms) {
    if (!term.term.isFunctionOfDim(position.getPosition())) {
      if (!term.coefficient.isMultipleOf(chunk))
        return false;
      continue;
    }
    if (!dividesByChunks(term.term, chunk))
      return false;
    const bool isDim = isa<AffineDimExpr>(term.term);
    // What counts the elements inside a piece: the dim, or its remainder.
    auto binary = dyn_cast<AffineBinaryOpExpr>(term.term);
    if (isDim || (binary.getKind() == AffineExprKind::Mod &&
                  isa<AffineDimExpr>(binary.getLHS()))) {
      if (term.coefficient != 1 || hasNeighbours)
        return false;
      hasNeighbours = true;
    } else if (!term.coefficient.isMultipleOf(chunk)) {
      return false;
    }
  }
  return hasNeighbours;
}

} // namespace

std::optional<Gathering> findGathering(const OperandView &view,
                                       ArrayRef<AffineExpr> rowDims,
                                       AffineExpr reduced,
                                       AffineExpr reducedSize, int64_t chunk) {
  if (!split(view.address, rowDims, reduced))
    return std::nullopt;
  return isInChunks(view.address, reduced, reducedSize, chunk)
             ? Gathering::Chunks
             : Gathering::Elements;
}

void declareGathered(PointPrinter &printer, DimTable &dims, StringRef name,
                     StringRef first, const OperandView &view,
                     Gathering gathering, ArrayRef<AffineExpr> rowDims,
                     AffineExpr reduced) {
  const SplitAddress parts = *split(view.address, rowDims, reduced);
  MLIRContext *context = reduced.getContext();
  auto sizeOf = [&](AffineExpr dim) {
    auto position = dyn_cast<AffineDimExpr>(dim);
    return position ? dims.size(position.getPosition())
                    : getAffineConstantExpr(1, context);
  };
  AffineExpr rows = getAffineConstantExpr(1, context);
  for (AffineExpr dim : rowDims)
    rows = canonical(rows * sizeOf(dim));

  // The number of a row in place of the dims that it is made of.
  AffineExpr number = dims.make(rows), rest = number;
  llvm::DenseMap<AffineExpr, AffineExpr> indices;
  for (size_t i = rowDims.size(); i-- > 0;) {
    if (!isa<AffineDimExpr>(rowDims[i]))
      continue;
    Division division{nullptr, rest};
    if (i > 0)
      division = divide(rest, sizeOf(rowDims[i]),
                        [&](unsigned d) { return dims.range(d); });
    indices[rowDims[i]] = division.remainder;
    rest = division.quotient;
  }
  auto declare = [&](StringRef function, StringRef parameter, AffineExpr dim,
                     AffineExpr place) {
    if (auto position = dyn_cast<AffineDimExpr>(dim))
      printer.current->bindings[position.getPosition()] = parameter.str();
    printer.line(llvm::formatv("const auto {0} = [=](Index {1}) -> long long "
                               "{{ return {2}; };",
                               function, parameter, printer.index(place)));
  };
  const std::string rowOf = name.str() + "RowOf",
                    stepOf = name.str() + "StepOf";
  declare(rowOf, "row", number, parts.row.replace(indices));
  declare(stepOf, "k", reduced, parts.step);
  std::string from = inputName(view.argument.getArgNumber());
  if (parts.batch != getAffineConstantExpr(0, context))
    from += " + " + printer.index(parts.batch);
  std::string make = "gatherChunks";
  if (gathering == Gathering::Elements) {
    const bool neighbours =
        !rowDims.empty() && view.coefficient(rowDims.back()) == 1;
    make = llvm::formatv("gatherElements<{0}>", neighbours ? "true" : "false");
  }
  printer.line(llvm::formatv("const auto {0} = {1}({2}, {3}, {4}, {5}, {6}, "
                             "{7});",
                             name, make, from, rowOf, stepOf, first,
                             printer.index(rows),
                             printer.index(sizeOf(reduced))));
}

} // namespace aitune
