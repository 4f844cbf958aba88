// Operations of linalg.generic bodies, as PointEmitter emits them.
#include "compiler/codegen/cpu/loops/PointEmitter.h"

#include "mlir/IR/TypeUtilities.h"
#include "runtime/cpu/kernel_abi.h"

#include <cstddef>
#include <limits>

using namespace mlir;

namespace aitune {

Value PointEmitter::zero(Type type) { return constant(b.getZeroAttr(type)); }

Value PointEmitter::constant(TypedAttr value) {
  if (auto number = dyn_cast<IntegerAttr>(value);
      number && number.getType().isIndex())
    return i64(number.getInt());
  return arith::ConstantOp::create(b, location, value);
}

Value PointEmitter::indexValue(AffineExpr expr, Type type) {
  return materialize(expr);
}

Value PointEmitter::select(scf::IfOp op, Value onTrue, Value onFalse,
                           Body &body) {
  Value condition = evaluate(op.getCondition(), body);
  auto inBranch = [&](Value value, Value mask, Operation *anchor) {
    Value evaluated;
    inScope(
        [&](EmissionScope &scope) {
          scope.isBranch = true;
          scope.mask = mask;
          scope.anchor = anchor;
        },
        [&] { evaluated = evaluateApart(value, body); });
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

void PointEmitter::report(mlir::ait::ReportOp op, Value failed, Value shown) {
  // Failures in lanes beyond the row, or in lanes of the other branch, do not
  // count.
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
    // Report the greatest value among the lanes that failed.
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
}

Value PointEmitter::operation(Operation *op, MutableArrayRef<Value> operands) {
  int64_t lanes = 1;
  for (Value operand : operands)
    if (auto vector = dyn_cast<VectorType>(operand.getType()))
      lanes = vector.getDimSize(0);
  Type type = op->getResult(0).getType();
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

} // namespace aitune
