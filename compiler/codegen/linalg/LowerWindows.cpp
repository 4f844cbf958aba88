// Pooling and resampling: reads at places computed from the position.
#include "compiler/codegen/linalg/KernelToLinalg.h"
#include "compiler/codegen/linalg/PointwiseToScalar.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace aitune {
namespace {

/// Which axes of a rank-4 tensor (or rank 3, without the batch) are spatial.
struct SpatialAxes {
  int64_t height, width;
};
SpatialAxes findSpatialAxes(int64_t rank, bool channelsLast) {
  return channelsLast ? SpatialAxes{rank - 3, rank - 2}
                      : SpatialAxes{rank - 2, rank - 1};
}

} // namespace

Value KernelToLinalg::windowReduction(Location location, RankedTensorType type,
                                      Value input,
                                      ArrayRef<AffineExpr> inputExprs,
                                      ArrayRef<int64_t> window,
                                      bool isMaximum) {
  int64_t rank = type.getRank();
  Type element = type.getElementType();
  auto inputType = cast<RankedTensorType>(input.getType());
  SmallVector<AffineExpr> inputSizes = mlir::ait::getSymbolicSizes(inputType);
  double start = isMaximum ? -std::numeric_limits<double>::infinity() : 0;
  Value init =
      filled(location, type, emitConstant(builder, location, element, start));
  // Gives the window's dims their sizes; never read.
  Value shape = tensor::EmptyOp::create(builder, location, window, element);

  SmallVector<AffineExpr> windowExprs,
      windowDomain = mlir::ait::getSymbolicSizes(type);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  for (size_t i = 0; i < window.size(); ++i) {
    windowExprs.push_back(dim(rank + i));
    windowDomain.push_back(constant(window[i]));
    iterators.push_back(utils::IteratorType::reduction);
  }
  unsigned dims = rank + window.size();
  AffineMap outputMap =
      AffineMap::getMultiDimIdentityMap(rank, type.getContext());
  outputMap =
      AffineMap::get(dims, 0, outputMap.getResults(), type.getContext());
  AffineMap windowMap = AffineMap::get(dims, 0, windowExprs, type.getContext());
  return linalg::GenericOp::create(
             builder, location, TypeRange{type}, ValueRange{shape},
             ValueRange{init}, ArrayRef<AffineMap>{windowMap, outputMap},
             iterators,
             [&](OpBuilder &b, Location l, ValueRange arguments) {
               domain = windowDomain;
               SmallVector<Bound> bounds;
               for (auto [expr, size] : llvm::zip(inputExprs, inputSizes))
                 bounds.push_back({expr, constant(0), size});
               Value x = choose(
                   b, l, inBounds(b, l, bounds), element,
                   [&](OpBuilder &at) -> Value {
                     SmallVector<Value> indices;
                     for (AffineExpr expr : inputExprs)
                       indices.push_back(indexValue(at, l, expr));
                     Value read =
                         tensor::ExtractOp::create(at, l, input, indices);
                     return emitConvert(at, l, read, element);
                   },
                   [&](OpBuilder &at) {
                     return emitConstant(at, l, element, start);
                   });
               Value result;
               if (!isMaximum)
                 result =
                     isa<FloatType>(element)
                         ? Value(arith::AddFOp::create(b, l, x, arguments[1]))
                         : Value(arith::AddIOp::create(b, l, x, arguments[1]));
               else
                 result =
                     isa<FloatType>(element)
                         ? Value(
                               arith::MaximumFOp::create(b, l, x, arguments[1]))
                         : Value(arith::MaxSIOp::create(b, l, x, arguments[1]));
               linalg::YieldOp::create(b, l, result);
             })
      .getResult(0);
}

void KernelToLinalg::lowerMaxPool(mlir::ait::MaxPool2dOp op) {
  RankedTensorType type = registerTensor(op.getType());
  SpatialAxes axes = findSpatialAxes(type.getRank(), op.getChannelsLast());
  SmallVector<AffineExpr> exprs;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    exprs.push_back(dim(axis));
  int64_t spatial[] = {axes.height, axes.width};
  for (int i = 0; i < 2; ++i)
    exprs[spatial[i]] = dim(spatial[i]) * op.getStride()[i] +
                        dim(type.getRank() + i) * op.getDilation()[i] -
                        op.getPadding()[i];
  define(op.getResult(),
         windowReduction(op.getLoc(), type, lowered(op.getInput()), exprs,
                         op.getKernelSize(),
                         /*isMaximum=*/true));
}

void KernelToLinalg::lowerAveragePool(mlir::ait::AvgPool2dOp op) {
  RankedTensorType type = registerTensor(op.getType());
  SpatialAxes axes = findSpatialAxes(type.getRank(), op.getChannelsLast());
  SmallVector<AffineExpr> sizes = mlir::ait::getSymbolicSizes(
      cast<RankedTensorType>(op.getInput().getType()));
  SmallVector<AffineExpr> exprs, starts;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    exprs.push_back(dim(axis));
  int64_t spatial[] = {axes.height, axes.width};
  for (int i = 0; i < 2; ++i) {
    starts.push_back(dim(spatial[i]) * op.getStride()[i] - op.getPadding()[i]);
    exprs[spatial[i]] = starts[i] + dim(type.getRank() + i);
  }
  bool half = type.getElementType().isF16() || type.getElementType().isBF16();
  RankedTensorType wide =
      half ? mlir::ait::withElementType(type, builder.getF32Type()) : type;
  Value sum = windowReduction(op.getLoc(), wide, lowered(op.getInput()), exprs,
                              op.getKernelSize(), false);

  define(op.getResult(),
         generic(
             op.getLoc(), type, {sum},
             {builder.getMultiDimIdentityMap(type.getRank())},
             [&](OpBuilder &b, Location l, ValueRange arguments) {
               Type computed = arguments[0].getType();
               Value divisor;
               if (std::optional<int64_t> fixed = op.getDivisorOverride()) {
                 divisor =
                     emitConstant(b, l, computed, static_cast<double>(*fixed));
               } else {
                 // The part of the window inside the input, or inside the
                 // padded input, where ceil_mode may end it early.
                 Value count = arith::ConstantIndexOp::create(b, l, 1);
                 for (int i = 0; i < 2; ++i) {
                   AffineExpr end = starts[i] + op.getKernelSize()[i],
                              size = sizes[spatial[i]];
                   bool padded = op.getCountIncludePad();
                   AffineExpr limit = padded ? size + op.getPadding()[i] : size;
                   Value last = arith::MinSIOp::create(
                       b, l, indexValue(b, l, end), indexValue(b, l, limit));
                   Value first = indexValue(b, l, starts[i]);
                   if (!padded)
                     first = arith::MaxSIOp::create(
                         b, l, first, arith::ConstantIndexOp::create(b, l, 0));
                   count = arith::MulIOp::create(
                       b, l, count, arith::SubIOp::create(b, l, last, first));
                 }
                 Value integer =
                     arith::IndexCastOp::create(b, l, b.getI64Type(), count);
                 divisor = emitConvert(b, l, integer, computed);
               }
               Value mean = arith::DivFOp::create(b, l, arguments[0], divisor);
               linalg::YieldOp::create(
                   b, l, emitConvert(b, l, mean, type.getElementType()));
             }));
}

void KernelToLinalg::lowerUpsampleNearest(mlir::ait::UpsampleNearest2dOp op) {
  RankedTensorType type = registerTensor(op.getType());
  SpatialAxes axes = findSpatialAxes(type.getRank(), op.getChannelsLast());
  SmallVector<AffineExpr> sizes = mlir::ait::getSymbolicSizes(
      cast<RankedTensorType>(op.getInput().getType()));
  SmallVector<AffineExpr> resultSizes = mlir::ait::getSymbolicSizes(type);
  int64_t spatial[] = {axes.height, axes.width};
  double scales[] = {op.getScaleH().convertToDouble(),
                     op.getScaleW().convertToDouble()};
  SmallVector<AffineExpr> exprs;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    exprs.push_back(dim(axis));
  // A whole factor is a division of integers.
  bool whole = true;
  for (int i = 0; i < 2; ++i) {
    double factor = std::round(1 / scales[i]);
    AffineExpr size = sizes[spatial[i]];
    whole &= factor >= 1 && factor * scales[i] == 1 &&
             resultSizes[spatial[i]] == size * int64_t(factor);
    if (whole)
      exprs[spatial[i]] =
          dim(spatial[i]).floorDiv(static_cast<int64_t>(factor));
  }
  if (whole) {
    define(op.getResult(),
           readAt(op.getLoc(), type, lowered(op.getInput()), exprs));
    return;
  }
  define(op.getResult(),
         generic(op.getLoc(), type, {}, {},
                 [&](OpBuilder &b, Location l, ValueRange) {
                   SmallVector<Value> indices;
                   for (int64_t axis = 0; axis < type.getRank(); ++axis)
                     indices.push_back(linalg::IndexOp::create(b, l, axis));
                   for (int i = 0; i < 2; ++i) {
                     Value position = arith::IndexCastOp::create(
                         b, l, b.getI64Type(), indices[spatial[i]]);
                     Value source = arith::MulFOp::create(
                         b, l, emitConvert(b, l, position, b.getF32Type()),
                         emitConstant(b, l, b.getF32Type(), scales[i]));
                     indices[spatial[i]] = clampIndex(
                         b, l, emitConvert(b, l, source, b.getI64Type()),
                         sizes[spatial[i]], NegativeIndex::IsFirst);
                   }
                   linalg::YieldOp::create(
                       b, l,
                       Value(tensor::ExtractOp::create(
                           b, l, lowered(op.getInput()), indices)));
                 }));
}

void KernelToLinalg::lowerUpsampleBilinear(mlir::ait::UpsampleBilinear2dOp op) {
  RankedTensorType type = registerTensor(op.getType());
  SpatialAxes axes = findSpatialAxes(type.getRank(), op.getChannelsLast());
  SmallVector<AffineExpr> sizes = mlir::ait::getSymbolicSizes(
      cast<RankedTensorType>(op.getInput().getType()));
  int64_t spatial[] = {axes.height, axes.width};
  double scales[] = {op.getScaleH().convertToDouble(),
                     op.getScaleW().convertToDouble()};
  Type element = type.getElementType();
  Type computed = element.isF64() ? element : Type(builder.getF32Type());
  define(
      op.getResult(),
      generic(
          op.getLoc(), type, {}, {}, [&](OpBuilder &b, Location l, ValueRange) {
            auto number = [&](double value) {
              return emitConstant(b, l, computed, value);
            };
            Value low[2], high[2], weight[2];
            for (int i = 0; i < 2; ++i) {
              Value index = linalg::IndexOp::create(b, l, spatial[i]);
              Value position = emitConvert(
                  b, l, arith::IndexCastOp::create(b, l, b.getI64Type(), index),
                  computed);
              Value source;
              if (op.getAlignCorners()) {
                source =
                    arith::MulFOp::create(b, l, position, number(scales[i]));
              } else {
                Value centre =
                    arith::AddFOp::create(b, l, position, number(0.5));
                source = arith::SubFOp::create(
                    b, l,
                    arith::MulFOp::create(b, l, centre, number(scales[i])),
                    number(0.5));
                source = arith::MaximumFOp::create(b, l, source, number(0));
              }
              Value whole = emitConvert(b, l, source, b.getI64Type());
              weight[i] = arith::SubFOp::create(
                  b, l, source, emitConvert(b, l, whole, computed));
              Value next = arith::AddIOp::create(
                  b, l, whole, arith::ConstantIntOp::create(b, l, 1, 64));
              low[i] = clampIndex(b, l, whole, sizes[spatial[i]],
                                  NegativeIndex::IsFirst);
              high[i] = clampIndex(b, l, next, sizes[spatial[i]],
                                   NegativeIndex::IsFirst);
            }
            auto read = [&](Value y, Value x) {
              SmallVector<Value> indices;
              for (int64_t axis = 0; axis < type.getRank(); ++axis)
                indices.push_back(
                    axis == axes.height ? y
                    : axis == axes.width
                        ? x
                        : Value(linalg::IndexOp::create(b, l, axis)));
              return emitConvert(b, l,
                                 tensor::ExtractOp::create(
                                     b, l, lowered(op.getInput()), indices),
                                 computed);
            };
            auto blend = [&](Value first, Value second, Value w) -> Value {
              Value rest = arith::SubFOp::create(b, l, number(1), w);
              return arith::AddFOp::create(
                  b, l, arith::MulFOp::create(b, l, first, rest),
                  arith::MulFOp::create(b, l, second, w));
            };
            Value top =
                blend(read(low[0], low[1]), read(low[0], high[1]), weight[1]);
            Value bottom =
                blend(read(high[0], low[1]), read(high[0], high[1]), weight[1]);
            linalg::YieldOp::create(
                b, l,
                emitConvert(b, l, blend(top, bottom, weight[0]), element));
          }));
}

LogicalResult KernelToLinalg::lowerWindow(Operation *op) {
  if (auto pool = dyn_cast<mlir::ait::MaxPool2dOp>(op))
    lowerMaxPool(pool);
  else if (auto pool = dyn_cast<mlir::ait::AvgPool2dOp>(op))
    lowerAveragePool(pool);
  else if (auto nearest = dyn_cast<mlir::ait::UpsampleNearest2dOp>(op))
    lowerUpsampleNearest(nearest);
  else if (auto bilinear = dyn_cast<mlir::ait::UpsampleBilinear2dOp>(op))
    lowerUpsampleBilinear(bilinear);
  else
    return failure();
  return success();
}

} // namespace aitune
