// Reductions and scans. Bodies yield one combining operation of the
// accumulator, which is how schedules know how to combine partial results.
#include "compiler/codegen/linalg/KernelToLinalg.h"
#include "compiler/codegen/linalg/PointwiseToScalar.h"
#include "compiler/dialect/ElementTypes.h"

#include <limits>

using namespace mlir;

namespace aitune {
namespace {

enum class Combiner { Sum, Product, Maximum, Minimum, Any, All };

Value combine(OpBuilder &b, Location location, Combiner combiner, Value x,
              Value accumulator, bool isUnsigned) {
  bool isFloat = isa<FloatType>(x.getType());
  auto make = [&](auto floatTag, auto integerTag) -> Value {
    if (isFloat)
      return decltype(floatTag)::create(b, location, x, accumulator);
    return decltype(integerTag)::create(b, location, x, accumulator);
  };
  switch (combiner) {
  case Combiner::Sum:
    return make(arith::AddFOp(), arith::AddIOp());
  case Combiner::Product:
    return make(arith::MulFOp(), arith::MulIOp());
  case Combiner::Maximum:
    return isUnsigned ? make(arith::MaximumFOp(), arith::MaxUIOp())
                      : make(arith::MaximumFOp(), arith::MaxSIOp());
  case Combiner::Minimum:
    return isUnsigned ? make(arith::MinimumFOp(), arith::MinUIOp())
                      : make(arith::MinimumFOp(), arith::MinSIOp());
  case Combiner::Any:
    return arith::OrIOp::create(b, location, x, accumulator);
  case Combiner::All:
    return arith::AndIOp::create(b, location, x, accumulator);
  }
  llvm_unreachable("every combiner has a case");
}

double neutral(Combiner combiner, Type element, bool isUnsigned) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  bool isFloat = isa<FloatType>(element);
  switch (combiner) {
  case Combiner::Sum:
  case Combiner::Any:
    return 0;
  case Combiner::Product:
  case Combiner::All:
    return 1;
  case Combiner::Maximum:
    return isUnsigned && !isFloat ? 0 : -infinity; // saturates for integers
  case Combiner::Minimum:
    return isUnsigned && !isFloat ? (element.isInteger(1) ? 1 : 255) : infinity;
  }
  llvm_unreachable("every combiner has a case");
}

} // namespace

void KernelToLinalg::lowerMean(mlir::ait::MeanOp op) {
  // The sum is lowered already; divide by the number of terms.
  Value sum = lowered(op.getResult());
  RankedTensorType type = registerTensor(op.getType());
  AffineExpr count = constant(1);
  SmallVector<AffineExpr> sizes = mlir::ait::getSymbolicSizes(
      cast<RankedTensorType>(op.getInput().getType()));
  for (int64_t axis : op.getDims())
    count = count * sizes[axis];
  define(op.getResult(),
         generic(op.getLoc(), type, {sum},
                 {builder.getMultiDimIdentityMap(type.getRank())},
                 [&](OpBuilder &b, Location l, ValueRange arguments) {
                   Type wide = arguments[0].getType();
                   Value divisor;
                   if (auto number = dyn_cast<AffineConstantExpr>(count)) {
                     divisor = emitConstant(
                         b, l, wide, static_cast<double>(number.getValue()));
                   } else {
                     Value integer = arith::IndexCastOp::create(
                         b, l, b.getI64Type(), indexValue(b, l, count));
                     divisor = emitConvert(b, l, integer, wide);
                   }
                   Value mean =
                       arith::DivFOp::create(b, l, arguments[0], divisor);
                   linalg::YieldOp::create(
                       b, l, emitConvert(b, l, mean, type.getElementType()));
                 }));
}

void KernelToLinalg::lowerArgReduction(Operation *op) {
  bool isMaximum = isa<mlir::ait::ArgmaxOp>(op);
  Location location = op->getLoc();
  Value input = lowered(op->getOperand(0));
  auto inputType = cast<RankedTensorType>(input.getType());
  Type sourceElement =
      cast<RankedTensorType>(op->getOperand(0).getType()).getElementType();
  bool isUnsigned =
      sourceElement.isUnsignedInteger() || sourceElement.isInteger(1);
  RankedTensorType indexType = registerTensor(op->getResult(0).getType());
  RankedTensorType valueType =
      mlir::ait::withElementType(indexType, inputType.getElementType());
  int64_t rank = inputType.getRank();
  auto dims = op->getAttrOfType<DenseI64ArrayAttr>("dims").asArrayRef();

  SmallVector<AffineExpr> outputExprs;
  SmallVector<utils::IteratorType> iterators;
  for (int64_t axis = 0; axis < rank; ++axis) {
    bool reduced = llvm::is_contained(dims, axis);
    outputExprs.push_back(reduced ? constant(0) : dim(axis));
    iterators.push_back(reduced ? utils::IteratorType::reduction
                                : utils::IteratorType::parallel);
  }
  AffineMap outputMap = AffineMap::get(rank, 0, outputExprs, op->getContext());
  Type element = inputType.getElementType();
  Combiner combiner = isMaximum ? Combiner::Maximum : Combiner::Minimum;
  Value worst = emitConstant(builder, location, element,
                             neutral(combiner, element, isUnsigned));
  Value first = emitConstant(builder, location, indexType.getElementType(), 0);
  Value values = filled(location, valueType, worst),
        indices = filled(location, indexType, first);
  SmallVector<AffineExpr> sizes = mlir::ait::getSymbolicSizes(inputType);

  auto generic = linalg::GenericOp::create(
      builder, location, TypeRange{valueType, indexType}, ValueRange{input},
      ValueRange{values, indices},
      ArrayRef<AffineMap>{builder.getMultiDimIdentityMap(rank), outputMap,
                          outputMap},
      iterators, [&](OpBuilder &b, Location l, ValueRange arguments) {
        domain = sizes;
        // The position among the reduced elements, in row-major order.
        AffineExpr position = constant(0);
        for (int64_t axis : dims)
          position = position * sizes[axis] + dim(axis);
        Value index = arith::IndexCastOp::create(
            b, l, indexType.getElementType(), indexValue(b, l, position));
        Value x = arguments[0], best = arguments[1];
        Value better;
        if (isa<FloatType>(element)) {
          // A NaN beats every number, the first NaN stays.
          Value strict = arith::CmpFOp::create(
              b, l,
              isMaximum ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT,
              x, best);
          Value xIsNan =
              arith::CmpFOp::create(b, l, arith::CmpFPredicate::UNO, x, x);
          Value bestIsNumber = arith::CmpFOp::create(
              b, l, arith::CmpFPredicate::ORD, best, best);
          better = arith::OrIOp::create(
              b, l, strict, arith::AndIOp::create(b, l, xIsNan, bestIsNumber));
        } else {
          auto predicate = isMaximum ? (isUnsigned ? arith::CmpIPredicate::ugt
                                                   : arith::CmpIPredicate::sgt)
                                     : (isUnsigned ? arith::CmpIPredicate::ult
                                                   : arith::CmpIPredicate::slt);
          better = arith::CmpIOp::create(b, l, predicate, x, best);
        }
        Value value = arith::SelectOp::create(b, l, better, x, best);
        Value chosen =
            arith::SelectOp::create(b, l, better, index, arguments[2]);
        linalg::YieldOp::create(b, l, ValueRange{value, chosen});
      });
  define(op->getResult(0), generic.getResult(1));
}

void KernelToLinalg::lowerCumsum(mlir::ait::CumsumOp op) {
  // A scan: the axis is a "reduction" for its accumulator, which has no such
  // axis, and every step's sum is a result. Steps run in order.
  Location location = op.getLoc();
  Value input = lowered(op.getInput());
  RankedTensorType type = registerTensor(op.getType());
  int64_t rank = type.getRank();
  // One chain of additions: in the element's own precision the sum of millions
  // of numbers would have few correct digits.
  Type wide = type.getElementType();
  if (mlir::ait::isHalf(wide))
    wide = builder.getF32Type();
  else if (wide.isF32())
    wide = builder.getF64Type();
  SmallVector<AffineExpr> sizes = mlir::ait::getSymbolicSizes(type),
                          accumulatorSizes = sizes, exprs;
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  accumulatorSizes[op.getDim()] = constant(1);
  iterators[op.getDim()] = utils::IteratorType::reduction;
  for (int64_t axis = 0; axis < rank; ++axis)
    exprs.push_back(axis == static_cast<int64_t>(op.getDim()) ? constant(0)
                                                              : dim(axis));
  RankedTensorType accumulatorType =
      mlir::ait::getTensorType(accumulatorSizes, wide);
  Value zero = emitConstant(builder, location, wide, 0);
  Value accumulator = filled(location, accumulatorType, zero);
  AffineMap identity = builder.getMultiDimIdentityMap(rank);
  auto scan = linalg::GenericOp::create(
      builder, location, TypeRange{type, accumulatorType}, ValueRange{input},
      ValueRange{empty(location, type), accumulator},
      ArrayRef<AffineMap>{identity, identity,
                          AffineMap::get(rank, 0, exprs, op.getContext())},
      iterators, [&](OpBuilder &b, Location l, ValueRange arguments) {
        Value x = emitConvert(b, l, arguments[0], wide);
        Value sum = combine(b, l, Combiner::Sum, x, arguments[2], false);
        linalg::YieldOp::create(
            b, l,
            ValueRange{emitConvert(b, l, sum, type.getElementType()), sum});
      });
  define(op.getResult(), scan.getResult(0));
}

LogicalResult KernelToLinalg::lowerReduction(Operation *op) {
  if (auto cumsum = dyn_cast<mlir::ait::CumsumOp>(op)) {
    lowerCumsum(cumsum);
    return success();
  }
  if (!mlir::ait::isReduction(op))
    return failure();
  if (isa<mlir::ait::ArgmaxOp, mlir::ait::ArgminOp>(op)) {
    lowerArgReduction(op);
    return success();
  }
  Combiner combiner;
  if (isa<mlir::ait::SumOp, mlir::ait::MeanOp>(op))
    combiner = Combiner::Sum;
  else if (isa<mlir::ait::ProdOp>(op))
    combiner = Combiner::Product;
  else if (isa<mlir::ait::AmaxOp>(op))
    combiner = Combiner::Maximum;
  else if (isa<mlir::ait::AminOp>(op))
    combiner = Combiner::Minimum;
  else if (isa<mlir::ait::AnyOp>(op))
    combiner = Combiner::Any;
  else if (isa<mlir::ait::AllOp>(op))
    combiner = Combiner::All;
  else
    return failure();

  Location location = op->getLoc();
  Value input = lowered(op->getOperand(0));
  auto inputType = cast<RankedTensorType>(input.getType());
  Type sourceElement =
      cast<RankedTensorType>(op->getOperand(0).getType()).getElementType();
  bool isUnsigned =
      sourceElement.isUnsignedInteger() || sourceElement.isInteger(1);
  RankedTensorType type = registerTensor(op->getResult(0).getType());
  // Halves are summed in f32; other types in the result's (bools count in i64).
  Type accumulated = mlir::ait::isHalf(type.getElementType())
                         ? Type(builder.getF32Type())
                         : type.getElementType();
  RankedTensorType accumulatorType =
      mlir::ait::withElementType(type, accumulated);
  auto dims = op->getAttrOfType<DenseI64ArrayAttr>("dims").asArrayRef();

  SmallVector<AffineExpr> outputExprs;
  SmallVector<utils::IteratorType> iterators;
  for (int64_t axis = 0; axis < inputType.getRank(); ++axis) {
    bool reduced = llvm::is_contained(dims, axis);
    outputExprs.push_back(reduced ? constant(0) : dim(axis));
    iterators.push_back(reduced ? utils::IteratorType::reduction
                                : utils::IteratorType::parallel);
  }
  AffineMap outputMap =
      AffineMap::get(inputType.getRank(), 0, outputExprs, op->getContext());
  Value start = emitConstant(builder, location, accumulated,
                             neutral(combiner, accumulated, isUnsigned));
  auto reduction = linalg::GenericOp::create(
      builder, location, TypeRange{accumulatorType}, ValueRange{input},
      ValueRange{filled(location, accumulatorType, start)},
      ArrayRef<AffineMap>{builder.getMultiDimIdentityMap(inputType.getRank()),
                          outputMap},
      iterators, [&](OpBuilder &b, Location l, ValueRange arguments) {
        Value x = emitConvert(b, l, arguments[0], accumulated, isUnsigned);
        linalg::YieldOp::create(
            b, l, combine(b, l, combiner, x, arguments[1], isUnsigned));
      });
  Value result = reduction.getResult(0);
  if (accumulated != type.getElementType() && !isa<mlir::ait::MeanOp>(op))
    result = generic(
        location, type, {result},
        {builder.getMultiDimIdentityMap(type.getRank())},
        [&](OpBuilder &b, Location l, ValueRange arguments) {
          linalg::YieldOp::create(
              b, l, emitConvert(b, l, arguments[0], type.getElementType()));
        });
  define(op->getResult(0), result);
  if (auto mean = dyn_cast<mlir::ait::MeanOp>(op))
    lowerMean(mean);
  return success();
}

} // namespace aitune
