#include "compiler/codegen/cpu/loops/PointEmitter.h"

#include "compiler/codegen/loops/PointWalkerImpl.h"

using namespace mlir;

namespace aitune {
template class PointWalker<EmissionScope>;

Value PointEmitter::activeMask() const {
  for (EmissionScope *scope = current; scope; scope = scope->parent) {
    if (scope->mask)
      return scope->mask;
    if (scope->laneDim)
      return nullptr;
  }
  return nullptr;
}

Value PointEmitter::branchMask() const {
  bool isBranch = false;
  for (EmissionScope *scope = current; scope; scope = scope->parent) {
    isBranch |= scope->isBranch && scope->mask;
    if (scope->laneDim)
      break;
  }
  return isBranch ? activeMask() : Value();
}

Value PointEmitter::i64(int64_t value) {
  return arith::ConstantIntOp::create(b, location, value, 64);
}

Value PointEmitter::broadcast(Value value, int64_t lanes) {
  if (lanes == 1 || isa<VectorType>(value.getType()))
    return value;
  auto type = VectorType::get({lanes}, value.getType());
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)))
    return arith::ConstantOp::create(b, location,
                                     DenseElementsAttr::get(type, constant));
  return vector::BroadcastOp::create(b, location, type, value);
}

Value PointEmitter::maskBelow(Value count, int64_t lanes) {
  auto type = VectorType::get({lanes}, b.getI32Type());
  SmallVector<int32_t> numbers;
  for (int64_t i = 0; i < lanes; ++i)
    numbers.push_back(i);
  Value iota = arith::ConstantOp::create(
      b, location, DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers)));
  Value narrow = arith::TruncIOp::create(b, location, b.getI32Type(), count);
  return arith::CmpIOp::create(b, location, arith::CmpIPredicate::slt, iota,
                               broadcast(narrow, lanes));
}

bool PointEmitter::isLaneVarying(AffineExpr expr) const {
  EmissionScope *lanes = laneScope();
  if (!lanes)
    return false;
  return llvm::any_of(dimsOf(expr), [&](unsigned dim) {
    if (dim == *lanes->laneDim)
      return true;
    const Value *value = binding(dim);
    return value && isa<VectorType>(value->getType());
  });
}

void PointEmitter::runIn(EmissionScope *target,
                         llvm::function_ref<void()> body) {
  OpBuilder::InsertionGuard guard(b);
  for (EmissionScope *scope = current; scope != target; scope = scope->parent)
    if (scope->anchor)
      b.setInsertionPoint(scope->anchor);
  PointWalker::runIn(target, body);
}

void PointEmitter::bind(const LoopGroup &group, Value value) {
  Value first = i64(0);
  for (unsigned dim : group.dims)
    current->bindings[dim] = first;
  current->bindings[group.dims.back()] = value;
}

SmallVector<Value> PointEmitter::loop(
    Value lower, Value upper, int64_t step, ValueRange carried,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  IntegerAttr first, last;
  SmallVector<Value> results(carried);
  if (matchPattern(lower, m_Constant(&first)) &&
      matchPattern(upper, m_Constant(&last))) {
    int64_t span = last.getInt() - first.getInt();
    if (span <= 0)
      return results;
    if (span <= step) {
      inScope([](EmissionScope &) {}, [&] { results = body(lower, results); });
      return results;
    }
  }
  auto op = scf::ForOp::create(b, location, lower, upper, i64(step), carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.getBody());
  inScope(
      [&](EmissionScope &scope) { scope.anchor = op; },
      [&] { results = body(op.getInductionVar(), op.getRegionIterArgs()); });
  if (!carried.empty())
    scf::YieldOp::create(b, location, results);
  return SmallVector<Value>(op.getResults());
}

} // namespace aitune
