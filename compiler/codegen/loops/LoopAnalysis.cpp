#include "compiler/codegen/loops/LoopAnalysis.h"

#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {
SmallVector<AffineExpr> sizesOf(Value tensor) {
  return mlir::ait::getSymbolicSizes(cast<RankedTensorType>(tensor.getType()));
}

AffineMap toKey(ArrayRef<AffineExpr> exprs, MLIRContext *context) {
  // More dims and symbols than a kernel has: maps of other counts differ.
  constexpr unsigned kAllDims = 4096, kAllSymbols = 64;
  return AffineMap::get(kAllDims, kAllSymbols, exprs, context);
}

Value stripReshapes(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::BitcastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
            op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

SmallVector<AffineExpr> getLoopSizes(linalg::GenericOp generic) {
  SmallVector<AffineExpr> sizes(generic.getNumLoops());
  for (OpOperand &operand : generic->getOpOperands()) {
    AffineMap map = generic.getMatchingIndexingMap(&operand);
    SmallVector<AffineExpr> operandSizes = sizesOf(operand.get());
    for (auto [expr, size] : llvm::zip(map.getResults(), operandSizes))
      if (auto dim = dyn_cast<AffineDimExpr>(expr);
          dim && !sizes[dim.getPosition()])
        sizes[dim.getPosition()] = size;
  }
  return sizes;
}

bool hasReductionLoops(linalg::GenericOp generic) {
  return generic.getNumReductionLoops() > 0;
}

bool isScan(linalg::GenericOp generic) {
  if (!hasReductionLoops(generic) || generic.getNumResults() < 2)
    return false;
  return generic.getIndexingMapMatchingResult(generic->getResult(0))
      .isIdentity();
}

SmallVector<AffineExpr> bindLoops(linalg::GenericOp generic, unsigned number,
                                  ArrayRef<AffineExpr> exprs) {
  SmallVector<AffineExpr> loops(generic.getNumLoops());
  AffineMap map =
      generic.getIndexingMapMatchingResult(generic->getResult(number));
  for (auto [expr, at] : llvm::zip(map.getResults(), exprs))
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      loops[dim.getPosition()] = at;
  return loops;
}

SmallVector<unsigned> openReducedLoops(linalg::GenericOp generic,
                                       MutableArrayRef<AffineExpr> loops,
                                       DimTable &dims) {
  SmallVector<unsigned> reduced;
  SmallVector<AffineExpr> sizes = getLoopSizes(generic);
  for (auto [loop, size, iterator] :
       llvm::zip(loops, sizes, generic.getIteratorTypesArray())) {
    if (iterator != utils::IteratorType::reduction)
      continue;
    loop = size == 1 ? getAffineConstantExpr(0, generic.getContext())
                     : dims.make(size);
    if (auto dim = dyn_cast<AffineDimExpr>(loop))
      reduced.push_back(dim.getPosition());
  }
  return reduced;
}

TypedAttr getNeutral(linalg::GenericOp generic, unsigned result) {
  Attribute number;
  auto fill = generic.getDpsInits()[result].getDefiningOp<linalg::FillOp>();
  if (!fill || !matchPattern(fill.getInputs()[0], m_Constant(&number)))
    return nullptr;
  return cast<TypedAttr>(number);
}

SmallVector<AffineExpr> reshapeIndex(Operation *reshape,
                                     ArrayRef<AffineExpr> exprs,
                                     RangeLookup ranges) {
  MLIRContext *context = reshape->getContext();
  AffineExpr zero = getAffineConstantExpr(0, context);
  SmallVector<AffineExpr> result;
  SmallVector<AffineExpr> sourceSizes = sizesOf(reshape->getOperand(0));
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(reshape)) {
    result.assign(sourceSizes.size(), zero);
    for (auto [group, expr] :
         llvm::zip(collapse.getReassociationIndices(), exprs)) {
      AffineExpr rest = expr;
      for (size_t i = group.size(); i-- > 1;) {
        Division division = divide(rest, sourceSizes[group[i]], ranges);
        result[group[i]] = division.remainder;
        rest = division.quotient;
      }
      result[group[0]] = rest;
    }
    return result;
  }
  auto expand = cast<tensor::ExpandShapeOp>(reshape);
  SmallVector<AffineExpr> sizes = sizesOf(expand.getResult());
  for (const ReassociationIndices &group : expand.getReassociationIndices()) {
    AffineExpr index = zero;
    for (int64_t axis : group)
      index = index * sizes[axis] + exprs[axis];
    result.push_back(index);
  }
  return result;
}

AffineExpr linearize(RankedTensorType type, ArrayRef<AffineExpr> exprs) {
  AffineExpr address = getAffineConstantExpr(0, type.getContext());
  for (auto [size, expr] : llvm::zip(mlir::ait::getSymbolicSizes(type), exprs))
    address = decompose(address).toExpr() * size + expr;
  return address;
}

AffineExpr trackIndex(Value value, ArrayRef<AffineExpr> loops) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return nullptr;
  MLIRContext *context = value.getContext();
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return loops[index.getDim()];
  if (auto symbol = dyn_cast<mlir::ait::SymbolOp>(op))
    return getAffineSymbolExpr(symbol.getIndex(), context);
  if (!value.getType().isIndex() && !value.getType().isInteger(64))
    return nullptr;
  IntegerAttr number;
  if (matchPattern(value, m_Constant(&number)))
    return getAffineConstantExpr(number.getInt(), context);
  SmallVector<AffineExpr> operands;
  if (!isa<affine::AffineApplyOp, arith::AddIOp, arith::SubIOp, arith::MulIOp,
           arith::IndexCastOp>(op))
    return nullptr;
  for (Value operand : op->getOperands()) {
    operands.push_back(trackIndex(operand, loops));
    if (!operands.back())
      return nullptr;
  }
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op)) {
    AffineMap map = apply.getAffineMap();
    ArrayRef<AffineExpr> all(operands);
    return map.getResult(0).replaceDimsAndSymbols(
        all.take_front(map.getNumDims()), all.drop_front(map.getNumDims()));
  }
  if (isa<arith::AddIOp>(op))
    return operands[0] + operands[1];
  if (isa<arith::SubIOp>(op))
    return operands[0] - operands[1];
  if (isa<arith::MulIOp>(op))
    return hasDims(operands[0]) && hasDims(operands[1])
               ? AffineExpr()
               : operands[0] * operands[1];
  return operands[0]; // arith.index_cast between index and i64
}

AffineExpr trackIndex(Value value, ArrayRef<AffineExpr> loops,
                      llvm::function_ref<AffineExpr(Value)> ofData) {
  if (AffineExpr expr = trackIndex(value, loops))
    return expr;
  auto apply = value.getDefiningOp<affine::AffineApplyOp>();
  if (!apply)
    return ofData(value);
  SmallVector<AffineExpr> operands;
  for (Value operand : apply.getMapOperands())
    operands.push_back(trackIndex(operand, loops, ofData));
  AffineMap map = apply.getAffineMap();
  ArrayRef<AffineExpr> all(operands);
  return map.getResult(0).replaceDimsAndSymbols(
      all.take_front(map.getNumDims()), all.drop_front(map.getNumDims()));
}

std::optional<bool> decideCondition(Value condition, ArrayRef<AffineExpr> loops,
                                    RangeLookup ranges) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    std::optional<bool> lhs = decideCondition(both.getLhs(), loops, ranges),
                        rhs = decideCondition(both.getRhs(), loops, ranges);
    if ((lhs && !*lhs) || (rhs && !*rhs))
      return false;
    return lhs && rhs ? std::optional<bool>(true) : std::nullopt;
  }
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return std::nullopt;
  AffineExpr lhs = trackIndex(compare.getLhs(), loops),
             rhs = trackIndex(compare.getRhs(), loops);
  if (!lhs || !rhs)
    return std::nullopt;
  bool isLess = compare.getPredicate() == arith::CmpIPredicate::slt;
  if (!isLess && compare.getPredicate() != arith::CmpIPredicate::sge)
    return std::nullopt;
  ConstantBounds bounds = getBounds(lhs - rhs, ranges);
  if (bounds.upper && *bounds.upper < 0)
    return isLess;
  if (bounds.lower && *bounds.lower >= 0)
    return !isLess;
  return std::nullopt;
}

double getCost(Operation *op) {
  if (isa<arith::ConstantOp, linalg::IndexOp, linalg::YieldOp, scf::YieldOp,
          affine::AffineApplyOp, arith::IndexCastOp, scf::IfOp>(op))
    return 0;
  if (isa<math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op, math::Log10Op>(
          op))
    return 16;
  if (isa<math::TanhOp, math::ErfOp, math::ExpM1Op, math::Log1pOp>(op))
    return 30;
  if (isa<math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp,
          math::TruncOp, math::RoundEvenOp, math::CopySignOp>(op))
    return 1;
  if (isa<arith::DivFOp, math::SqrtOp>(op))
    return 6;
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op))
    return 20;
  if (op->getName().getDialectNamespace() == "math" || isa<arith::RemFOp>(op))
    return 40; // libm
  return 1;
}

void LoopAnalysis::observe(AffineExpr expr) {
  for (unsigned dim : dimsOf(expr))
    observed.insert(dim);
}

void LoopAnalysis::visit(Value tensor, ArrayRef<AffineExpr> exprs) {
  if (!visited.insert({tensor, toKey(exprs, tensor.getContext())}).second)
    return;
  Operation *op = tensor.getDefiningOp();
  if (!op) {
    auto type = cast<RankedTensorType>(tensor.getType());
    accesses.push_back({decompose(linearize(type, exprs)), inReduction,
                        type.getElementType().getIntOrFloatBitWidth()});
    cost += weight;
    return;
  }
  auto ranges = [&](unsigned dim) { return dims.range(dim); };
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
    return visit(op->getOperand(0), reshapeIndex(op, exprs, ranges));
  if (isa<tensor::BitcastOp>(op))
    return visit(op->getOperand(0), exprs);
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic)
    return; // linalg.fill, tensor.empty
  unsigned number = cast<OpResult>(tensor).getResultNumber();
  SmallVector<AffineExpr> loops = bindLoops(generic, number, exprs);
  if (!hasReductionLoops(generic))
    return visitBody(generic, loops);

  Reduction reduction{generic, number, SmallVector<AffineExpr>(exprs), {}, 0};
  double outerWeight = weight, costBefore = cost;
  bool outerInReduction = inReduction;
  inReduction = true;
  SmallVector<AffineExpr> sizes = getLoopSizes(generic);
  for (auto [loop, size, iterator] :
       llvm::zip(loops, sizes, generic.getIteratorTypesArray())) {
    if (iterator != utils::IteratorType::reduction)
      continue;
    if (isScan(generic))
      for (unsigned dim : dimsOf(loop)) {
        scanned.insert(dim);
        observed.insert(dim);
      }
    weight *= getConstant(size).value_or(64);
  }
  reduction.reducedDims = openReducedLoops(generic, loops, dims);
  visitBody(generic, loops);
  reduction.cost = cost - costBefore;
  reductions.push_back(reduction);
  weight = outerWeight;
  inReduction = outerInReduction;
}

void LoopAnalysis::visitBody(linalg::GenericOp generic,
                             ArrayRef<AffineExpr> loops) {
  // Bodies share values; each is followed once.
  llvm::DenseSet<Value> seen;
  for (Value value : generic.getBody()->getTerminator()->getOperands())
    visitValue(value, generic, loops, seen);
  // Each operation once, whatever the number of its uses.
  generic.getBody()->walk([&](Operation *op) { cost += weight * getCost(op); });
}

void LoopAnalysis::visitValue(Value value, linalg::GenericOp generic,
                              ArrayRef<AffineExpr> loops,
                              llvm::DenseSet<Value> &seen) {
  if (!seen.insert(value).second)
    return;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != generic.getBody() ||
        argument.getArgNumber() >= generic.getNumDpsInputs())
      return;
    OpOperand &operand = generic->getOpOperand(argument.getArgNumber());
    SmallVector<AffineExpr> exprs;
    for (AffineExpr expr :
         generic.getMatchingIndexingMap(&operand).getResults())
      exprs.push_back(expr.replaceDims(loops));
    return visit(operand.get(), exprs);
  }
  if (AffineExpr expr = trackIndex(value, loops))
    return observe(expr);
  Operation *op = value.getDefiningOp();
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    SmallVector<AffineExpr> exprs;
    for (Value index : extract.getIndices()) {
      exprs.push_back(trackIndex(index, loops));
      if (!exprs.back()) {
        visitValue(index, generic, loops, seen);
        exprs.back() = dims.makeOpaque(value.getContext());
      }
    }
    return visit(extract.getTensor(), exprs);
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    visitValue(branch.getCondition(), generic, loops, seen);
    for (Value yielded : branch.thenYield().getResults())
      visitValue(yielded, generic, loops, seen);
    for (Value yielded : branch.elseYield().getResults())
      visitValue(yielded, generic, loops, seen);
    return;
  }
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    AffineExpr lhs = trackIndex(compare.getLhs(), loops),
               rhs = trackIndex(compare.getRhs(), loops);
    if (lhs && rhs)
      thresholds.push_back(lhs - rhs);
  }
  for (Value operand : op->getOperands())
    visitValue(operand, generic, loops, seen);
}

bool LoopAnalysis::canMerge(unsigned outer, unsigned inner) const {
  if (observed.contains(outer) || observed.contains(inner))
    return false;
  AffineExpr size = dims.size(inner);
  return llvm::all_of(accesses, [&](const Access &access) {
    const LinearForm &address = access.address;
    return !address.isNonlinearIn(outer) && !address.isNonlinearIn(inner) &&
           canonical(address.coefficientOf(inner) * size) ==
               canonical(address.coefficientOf(outer));
  });
}

int64_t chooseLanes(std::optional<int64_t> steps, int64_t most) {
  return std::clamp<int64_t>(llvm::PowerOf2Ceil(steps.value_or(most)), 1, most);
}

} // namespace aitune
