#include "compiler/codegen/cpu/loops/PointEmitter.h"

#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace aitune {
namespace {

constexpr unsigned kAllDims = 4096, kAllSymbols = 64;

AffineMap toKey(ArrayRef<AffineExpr> exprs, MLIRContext *context) {
  return AffineMap::get(kAllDims, kAllSymbols, exprs, context);
}

} // namespace

EmissionScope *PointEmitter::laneScope() const {
  for (EmissionScope *scope = current; scope; scope = scope->parent)
    if (scope->laneDim)
      return scope;
  return nullptr;
}

Value PointEmitter::activeMask() const {
  for (EmissionScope *scope = current; scope; scope = scope->parent) {
    if (scope->mask)
      return scope->mask;
    if (scope->laneDim)
      return nullptr;
  }
  return nullptr;
}

std::optional<DimRange> PointEmitter::range(unsigned dim) const {
  for (EmissionScope *scope = current; scope; scope = scope->parent) {
    auto found = scope->ranges.find(dim);
    if (found != scope->ranges.end())
      return found->second;
  }
  return dims.range(dim);
}

Value PointEmitter::binding(unsigned dim) const {
  for (EmissionScope *scope = current; scope; scope = scope->parent)
    if (Value value = scope->bindings.lookup(dim))
      return value;
  return nullptr;
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
    Value value = binding(dim);
    return value && isa<VectorType>(value.getType());
  });
}

void PointEmitter::inScope(llvm::function_ref<void(EmissionScope &)> setUp,
                           llvm::function_ref<void()> body) {
  EmissionScope scope;
  scope.parent = current;
  setUp(scope);
  current = &scope;
  body();
  current = scope.parent;
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

void PointEmitter::branch(Value condition, llvm::function_ref<void()> body) {
  auto op = scf::IfOp::create(b, location, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  inScope([&](EmissionScope &scope) { scope.anchor = op; }, body);
}

EmissionScope *PointEmitter::placementOf(ArrayRef<AffineExpr> exprs) const {
  for (EmissionScope *scope = current; scope; scope = scope->parent) {
    if (scope->isBranch || !scope->parent)
      return scope;
    for (const auto &[dim, value] : scope->bindings)
      if (llvm::any_of(exprs, [dim = dim](AffineExpr expr) {
            return expr.isFunctionOfDim(dim);
          }))
        return scope;
  }
  return current;
}

Value PointEmitter::pull(Value tensor, ArrayRef<AffineExpr> exprs) {
  std::pair<Value, AffineMap> key{tensor, toKey(exprs, tensor.getContext())};
  for (EmissionScope *scope = current; scope; scope = scope->parent)
    if (Value value = scope->known.lookup(key))
      return value;
  EmissionScope *target = placementOf(exprs), *origin = current;
  OpBuilder::InsertionGuard guard(b);
  for (EmissionScope *scope = current; scope != target; scope = scope->parent)
    if (scope->anchor)
      b.setInsertionPoint(scope->anchor);
  current = target;
  Value value = pullHere(tensor, exprs);
  target->known[key] = value;
  current = origin;
  return value;
}

Value PointEmitter::pullHere(Value tensor, ArrayRef<AffineExpr> exprs) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return load(pointers.lookup(tensor), type.getElementType(),
                linearize(type, exprs));
  if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    Attribute constant;
    matchPattern(fill.getInputs()[0], m_Constant(&constant));
    return arith::ConstantOp::create(b, location, cast<TypedAttr>(constant));
  }
  if (isa<tensor::BitcastOp>(op))
    return pull(op->getOperand(0), exprs);
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
    return pull(op->getOperand(0), reshapeIndex(op, exprs, [&](unsigned dim) {
                  return range(dim);
                }));

  auto generic = cast<linalg::GenericOp>(op);
  unsigned number = cast<OpResult>(tensor).getResultNumber();
  if (hasReductionLoops(generic)) {
    if (isScan(generic))
      return scan(generic, exprs);
    reduce(generic, number, exprs);
    return current->known.lookup({tensor, toKey(exprs, tensor.getContext())});
  }
  auto buffered = rowBuffers.find(tensor);
  AffineExpr address = nullptr;
  if (buffered != rowBuffers.end()) {
    RowBuffer &buffer = buffered->second;
    address = getAffineConstantExpr(0, tensor.getContext());
    for (auto [expr, stride] : llvm::zip(exprs, buffer.strides))
      address = address + expr * stride;
    if (buffer.isUsable && buffer.isFilled && fits(buffer, address))
      return loadBuffer(buffer, address);
  }
  Body body(generic, bindLoops(generic, number, exprs));
  Value value =
      evaluate(generic.getBody()->getTerminator()->getOperand(number), body);
  if (buffered != rowBuffers.end() && !buffered->second.isFilled) {
    if (fits(buffered->second, address))
      storeBuffer(buffered->second, address, value);
    else
      buffered->second.isUsable = false;
  }
  return value;
}

} // namespace aitune
