#include "compiler/codegen/linalg/KernelToLinalg.h"

#include <set>

#include "compiler/codegen/linalg/PointwiseToScalar.h"
#include "compiler/dialect/KernelAttributes.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace aitune {

LogicalResult KernelToLinalg::run() {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitOpError("is a kernel and must have one block");
  Block &block = function.getBody().front();
  Operation *terminator = block.getTerminator();
  builder.setInsertionPoint(terminator);
  SmallVector<Operation *> operations;
  for (Operation &op : block.without_terminator())
    operations.push_back(&op);

  Location location = function.getLoc();
  for (BlockArgument argument : block.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      return function.emitOpError(
          "is a loop kernel and takes ranked tensors only");
    RankedTensorType carried = registerTensor(type);
    define(argument, carried == type
                         ? Value(argument)
                         : Value(tensor::BitcastOp::create(builder, location,
                                                           carried, argument)));
  }
  using Lowering = LogicalResult (KernelToLinalg::*)(Operation *);
  const Lowering families[] = {
      &KernelToLinalg::lowerCheck,     &KernelToLinalg::lowerPointwise,
      &KernelToLinalg::lowerReduction, &KernelToLinalg::lowerView,
      &KernelToLinalg::lowerSource,    &KernelToLinalg::lowerDataMovement,
      &KernelToLinalg::lowerWindow};
  for (Operation *op : operations) {
    bool done = llvm::any_of(families, [&](Lowering lower) {
      return succeeded((this->*lower)(op));
    });
    if (!done)
      return op->emitOpError("has no lowering inside a loop kernel; decompose "
                             "it or keep it out of the kernel");
  }
  if (!checks.empty())
    mlir::ait::setKernelChecks(function, builder.getArrayAttr(checks));
  for (OpOperand &result : terminator->getOpOperands()) {
    Value value = lowered(result.get());
    if (value.getType() != result.get().getType())
      value = tensor::BitcastOp::create(builder, location,
                                        result.get().getType(), value);
    result.set(value);
  }
  for (Operation *op : llvm::reverse(operations))
    op->erase();
  return success();
}

RankedTensorType KernelToLinalg::registerTensor(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return mlir::ait::withElementType(tensor,
                                    getRegisterType(tensor.getElementType()));
}

Value KernelToLinalg::scalar(Location location, Type elementType,
                             double number) {
  return emitConstant(builder, location, getRegisterType(elementType), number);
}

Value emitIndex(OpBuilder &builder, Location location, AffineExpr expr,
                llvm::function_ref<Value(OpBuilder &, unsigned)> symbol) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return arith::ConstantIndexOp::create(builder, location,
                                          constant.getValue());
  // linalg.index stands directly in the generic's body, not in a branch.
  Block *body = builder.getInsertionBlock();
  while (isa_and_nonnull<scf::IfOp>(body->getParentOp()))
    body = body->getParentOp()->getBlock();
  OpBuilder atStart(builder.getContext());
  atStart.setInsertionPointToStart(body);
  // Operands: the dims and symbols that occur, renumbered.
  std::set<unsigned> dims, symbols;
  expr.walk([&](AffineExpr part) {
    if (auto dim = dyn_cast<AffineDimExpr>(part))
      dims.insert(dim.getPosition());
    else if (auto number = dyn_cast<AffineSymbolExpr>(part))
      symbols.insert(number.getPosition());
  });
  SmallVector<Value> operands;
  llvm::DenseMap<AffineExpr, AffineExpr> renumbered;
  for (auto [number, dim] : llvm::enumerate(dims)) {
    operands.push_back(linalg::IndexOp::create(atStart, location, dim));
    renumbered[builder.getAffineDimExpr(dim)] =
        builder.getAffineDimExpr(number);
  }
  for (auto [number, position] : llvm::enumerate(symbols)) {
    operands.push_back(symbol(atStart, position));
    renumbered[builder.getAffineSymbolExpr(position)] =
        builder.getAffineSymbolExpr(number);
  }
  if (isa<AffineDimExpr, AffineSymbolExpr>(expr))
    return operands.front();
  return affine::AffineApplyOp::create(
      builder, location,
      AffineMap::get(dims.size(), symbols.size(), expr.replace(renumbered)),
      operands);
}

Value KernelToLinalg::matchFull(Value aitValue, Location location) {
  auto full = aitValue.getDefiningOp<mlir::ait::FullOp>();
  if (!full)
    return nullptr;
  Type element =
      getRegisterType(cast<RankedTensorType>(full.getType()).getElementType());
  if (auto integer = dyn_cast<IntegerAttr>(full.getValue());
      integer && isa<IntegerType>(element))
    return arith::ConstantOp::create(
        builder, location,
        IntegerAttr::get(element, integer.getValue().sextOrTrunc(
                                      element.getIntOrFloatBitWidth())));
  if (auto integer = dyn_cast<IntegerAttr>(full.getValue()))
    return emitConstant(builder, location, element,
                        static_cast<double>(integer.getInt()));
  return emitConstant(builder, location, element,
                      cast<FloatAttr>(full.getValue()).getValueAsDouble());
}

Value KernelToLinalg::symbol(unsigned number) {
  Value &value = symbols[number];
  if (!value) {
    OpBuilder start = OpBuilder::atBlockBegin(&function.getBody().front());
    value = mlir::ait::SymbolOp::create(start, function.getLoc(),
                                        start.getIndexType(),
                                        start.getI64IntegerAttr(number));
  }
  return value;
}

Value KernelToLinalg::indexValue(OpBuilder &b, Location location,
                                 AffineExpr expr) {
  return emitIndex(b, location, expr, [&](OpBuilder &, unsigned number) {
    return symbol(number);
  });
}

Value KernelToLinalg::sizeValue(AffineExpr size) {
  return indexValue(builder, function.getLoc(), size);
}

Value KernelToLinalg::empty(Location location, RankedTensorType type) {
  SmallVector<Value> dynamicSizes;
  for (auto [size, expr] :
       llvm::zip(type.getShape(), mlir::ait::getSymbolicSizes(type)))
    if (ShapedType::isDynamic(size))
      dynamicSizes.push_back(sizeValue(expr));
  return tensor::EmptyOp::create(builder, location, type, dynamicSizes);
}

Value KernelToLinalg::filled(Location location, RankedTensorType type,
                             Value number) {
  Value init = empty(location, type);
  return linalg::FillOp::create(builder, location, ValueRange{number},
                                ValueRange{init})
      .getResult(0);
}

Value KernelToLinalg::generic(Location location, RankedTensorType type,
                              ValueRange operands, ArrayRef<AffineMap> maps,
                              Body body) {
  SmallVector<AffineMap> allMaps(maps);
  allMaps.push_back(builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  domain = mlir::ait::getSymbolicSizes(type);
  return linalg::GenericOp::create(
             builder, location, TypeRange{type}, operands,
             ValueRange{empty(location, type)}, allMaps, iterators,
             [&](OpBuilder &b, Location l, ValueRange arguments) {
               domain = mlir::ait::getSymbolicSizes(type);
               body(b, l, arguments);
             })
      .getResult(0);
}

Value KernelToLinalg::readAt(Location location, RankedTensorType type,
                             Value input, ArrayRef<AffineExpr> exprs) {
  // An axis read at a loop's own index must be as long as the loop.
  SmallVector<AffineExpr> sizes = mlir::ait::getSymbolicSizes(type);
  SmallVector<AffineExpr> inputSizes =
      mlir::ait::getSymbolicSizes(cast<RankedTensorType>(input.getType()));
  bool plain = llvm::none_of(llvm::zip(exprs, inputSizes), [&](auto pair) {
    auto [expr, inputSize] = pair;
    if (auto single = dyn_cast<AffineDimExpr>(expr))
      return sizes[single.getPosition()] != inputSize;
    bool hasSymbol = false;
    expr.walk(
        [&](AffineExpr part) { hasSymbol |= isa<AffineSymbolExpr>(part); });
    return hasSymbol;
  });
  if (plain) {
    AffineMap map = AffineMap::get(type.getRank(), 0, exprs, type.getContext());
    return generic(location, type, {input}, {map},
                   [](OpBuilder &b, Location l, ValueRange arguments) {
                     linalg::YieldOp::create(b, l, arguments.front());
                   });
  }
  return generic(
      location, type, {}, {}, [&](OpBuilder &b, Location l, ValueRange) {
        SmallVector<Value> indices;
        for (AffineExpr expr : exprs)
          indices.push_back(indexValue(b, l, expr));
        linalg::YieldOp::create(
            b, l, Value(tensor::ExtractOp::create(b, l, input, indices)));
      });
}

LogicalResult KernelToLinalg::lowerPointwise(Operation *op) {
  if (!mlir::ait::isPointwise(op))
    return failure();
  Location location = op->getLoc();
  RankedTensorType type = registerTensor(op->getResult(0).getType());
  // Constants go into the body, where the scalar form can see them.
  SmallVector<Value> scalars, tensors;
  for (Value operand : op->getOperands()) {
    scalars.push_back(matchFull(operand, location));
    if (!scalars.back())
      tensors.push_back(lowered(operand));
  }
  SmallVector<AffineMap> maps(tensors.size(),
                              builder.getMultiDimIdentityMap(type.getRank()));
  bool failedInBody = false;
  Value result = generic(
      location, type, tensors, maps,
      [&](OpBuilder &b, Location l, ValueRange arguments) {
        SmallVector<Value> operands;
        unsigned next = 0;
        for (Value constant : scalars)
          operands.push_back(
              constant ? b.clone(*constant.getDefiningOp())->getResult(0)
                       : arguments[next++]);
        FailureOr<Value> value = emitPointwise(b, op, operands);
        failedInBody = failed(value);
        linalg::YieldOp::create(b, l, failedInBody ? arguments.back() : *value);
      });
  for (Value constant : scalars)
    if (constant)
      constant.getDefiningOp()->erase();
  if (failedInBody)
    return failure();
  define(op->getResult(0), result);
  return success();
}

} // namespace aitune
