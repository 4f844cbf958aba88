// Evaluation of linalg.generic bodies, on demand from what they yield.
#include "compiler/codegen/cpu/loops/PointEmitter.h"

#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "runtime/cpu/kernel_abi.h"

#include <cstddef>
#include <limits>

using namespace mlir;

namespace aitune {

AffineExpr PointEmitter::indexOf(Value value, Body &body) {
  // Known only when the code runs: a dim of its own, bound here.
  return trackIndex(value, body.loops, [&](Value ofData) {
    Value number = evaluate(ofData, body);
    AffineExpr dim = dims.makeOpaque(ofData.getContext());
    current->bindings[cast<AffineDimExpr>(dim).getPosition()] = number;
    return dim;
  });
}

std::optional<bool> PointEmitter::decide(Value condition, Body &body) {
  return decideCondition(condition, body.loops,
                         [this](unsigned dim) { return range(dim); });
}

Value PointEmitter::evaluateBranch(scf::IfOp op, unsigned result, Body &body) {
  Value onTrue = op.thenYield().getOperand(result),
        onFalse = op.elseYield().getOperand(result);
  if (std::optional<bool> decided = decide(op.getCondition(), body))
    return evaluate(*decided ? onTrue : onFalse, body);
  Value condition = evaluate(op.getCondition(), body);
  // Values found in a branch are not known after it.
  auto inBranch = [&](Value value, Value mask, Operation *anchor) {
    Body copy = body;
    Value evaluated;
    inScope(
        [&](EmissionScope &scope) {
          scope.isBranch = true;
          scope.mask = mask;
          scope.anchor = anchor;
        },
        [&] { evaluated = evaluate(value, copy); });
    return evaluated;
  };
  if (auto vector = dyn_cast<VectorType>(condition.getType())) {
    Value all = arith::ConstantOp::create(
        b, location, DenseElementsAttr::get(vector, b.getBoolAttr(true)));
    Value outside = arith::XOrIOp::create(b, location, condition, all);
    Value mask = activeMask();
    auto within = [&](Value lanes) {
      return mask ? Value(arith::AndIOp::create(b, location, mask, lanes))
                  : lanes;
    };
    Value first = broadcast(inBranch(onTrue, within(condition), nullptr),
                            vector.getDimSize(0));
    Value second = broadcast(inBranch(onFalse, within(outside), nullptr),
                             vector.getDimSize(0));
    return arith::SelectOp::create(b, location, condition, first, second);
  }
  // The result may be a vector in one branch and a scalar in the other.
  auto placeholder =
      scf::IfOp::create(b, location, condition, /*withElseRegion=*/true);
  Value values[2];
  for (int i = 0; i < 2; ++i) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(i == 0 ? placeholder.thenBlock()
                                      : placeholder.elseBlock());
    values[i] = inBranch(i == 0 ? onTrue : onFalse, nullptr, placeholder);
  }
  bool isVector = isa<VectorType>(values[0].getType()) ||
                  isa<VectorType>(values[1].getType());
  int64_t lanes = isVector ? laneScope()->lanes : 1;
  for (int i = 0; i < 2; ++i) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(
        (i == 0 ? placeholder.thenBlock() : placeholder.elseBlock())
            ->getTerminator());
    values[i] = broadcast(values[i], lanes);
  }
  auto branch = scf::IfOp::create(b, location, TypeRange{values[0].getType()},
                                  condition, /*addThenBlock=*/false,
                                  /*addElseBlock=*/false);
  branch.getThenRegion().takeBody(placeholder.getThenRegion());
  branch.getElseRegion().takeBody(placeholder.getElseRegion());
  placeholder.erase();
  for (int i = 0; i < 2; ++i) {
    Block *block = i == 0 ? branch.thenBlock() : branch.elseBlock();
    block->getTerminator()->erase();
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(block);
    scf::YieldOp::create(b, location, values[i]);
  }
  return branch.getResult(0);
}

Value PointEmitter::evaluateExtract(tensor::ExtractOp op, Body &body) {
  SmallVector<AffineExpr> exprs;
  for (Value index : op.getIndices())
    exprs.push_back(indexOf(index, body));
  return pull(op.getTensor(), exprs);
}

Value PointEmitter::evaluateReport(mlir::ait::ReportOp op, Body &body) {
  Value value = evaluate(op.getValue(), body),
        failed = evaluate(op.getFailed(), body),
        shown = evaluate(op.getShown(), body);
  // What is evaluated for lanes beyond the row, or of the other branch, is of
  // no concern.
  Value lanes = failed;
  if (Value mask = activeMask()) {
    lanes = broadcast(failed, cast<VectorType>(mask.getType()).getDimSize(0));
    lanes = arith::AndIOp::create(b, location, lanes, mask);
  }
  auto vector = dyn_cast<VectorType>(lanes.getType());
  Value any = vector ? Value(vector::ReductionOp::create(
                           b, location, vector::CombiningKind::OR, lanes))
                     : lanes;
  auto branch = scf::IfOp::create(b, location, any, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  if (vector) {
    // One of those that failed.
    int64_t count = vector.getDimSize(0);
    Value least = broadcast(i64(std::numeric_limits<int64_t>::min()), count);
    shown = vector::ReductionOp::create(
        b, location, vector::CombiningKind::MAXSI,
        arith::SelectOp::create(b, location, lanes, broadcast(shown, count),
                                least));
  }
  auto store = [&](Value word, size_t offset) {
    Value at = LLVM::GEPOp::create(
        b, location, checks.getType(), b.getI8Type(), checks,
        ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(static_cast<int32_t>(
            op.getCheck() * sizeof(KernelCheck) + offset))});
    // Other threads may store there too.
    LLVM::StoreOp::create(b, location, word, at, /*alignment=*/8,
                          /*isVolatile=*/false, /*isNonTemporal=*/false,
                          /*isInvariantGroup=*/false,
                          LLVM::AtomicOrdering::monotonic);
  };
  store(shown, offsetof(KernelCheck, value));
  store(i64(1), offsetof(KernelCheck, failed));
  return value;
}

Value PointEmitter::evaluateElementwise(Operation *op, unsigned result,
                                        Body &body) {
  SmallVector<Value> operands;
  int64_t lanes = 1;
  for (Value operand : op->getOperands()) {
    operands.push_back(evaluate(operand, body));
    if (auto vector = dyn_cast<VectorType>(operands.back().getType()))
      lanes = vector.getDimSize(0);
  }
  Type type = op->getResult(result).getType();
  if (type.isIndex())
    type = b.getI64Type();
  // index is i64 here, which leaves casts between them without work.
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    Type from = getElementTypeOrSelf(operands[0]);
    if (from == type)
      return operands[0];
    if (auto vector = dyn_cast<VectorType>(operands[0].getType()))
      type = vector.clone(type);
    if (from.getIntOrFloatBitWidth() >
        getElementTypeOrSelf(type).getIntOrFloatBitWidth())
      return arith::TruncIOp::create(b, location, type, operands[0]);
    if (isa<arith::IndexCastUIOp>(op))
      return arith::ExtUIOp::create(b, location, type, operands[0]);
    return arith::ExtSIOp::create(b, location, type, operands[0]);
  }
  if (lanes > 1) {
    type = VectorType::get({lanes}, type);
    for (auto [i, operand] : llvm::enumerate(operands))
      if (!(isa<arith::SelectOp>(op) && i == 0))
        operand = broadcast(operand, lanes);
  }
  OperationState state(location, op->getName(), operands, TypeRange{type},
                       op->getAttrs());
  return b.create(state)->getResult(0);
}

Value PointEmitter::evaluate(Value value, Body &body) {
  if (Value known = body.known.lookup(value))
    return known;
  Value result;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    OpOperand &operand = body.generic->getOpOperand(argument.getArgNumber());
    SmallVector<AffineExpr> exprs;
    for (AffineExpr expr :
         body.generic.getMatchingIndexingMap(&operand).getResults())
      exprs.push_back(expr.replaceDims(body.loops));
    result = pull(operand.get(), exprs);
  } else if (Attribute constant; matchPattern(value, m_Constant(&constant))) {
    if (auto number = dyn_cast<IntegerAttr>(constant);
        number && value.getType().isIndex())
      constant = b.getI64IntegerAttr(number.getInt());
    result = arith::ConstantOp::create(b, location, cast<TypedAttr>(constant));
  } else if (AffineExpr expr = trackIndex(value, body.loops)) {
    result = materialize(expr);
  } else if (value.getDefiningOp<affine::AffineApplyOp>()) {
    result = materialize(indexOf(value, body));
  } else {
    Operation *op = value.getDefiningOp();
    unsigned number = cast<OpResult>(value).getResultNumber();
    if (auto extract = dyn_cast<tensor::ExtractOp>(op))
      result = evaluateExtract(extract, body);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      result = evaluateBranch(branch, number, body);
    else if (auto report = dyn_cast<mlir::ait::ReportOp>(op))
      result = evaluateReport(report, body);
    else
      result = evaluateElementwise(op, number, body);
  }
  body.known[value] = result;
  return result;
}

} // namespace aitune
