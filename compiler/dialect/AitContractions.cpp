// The contractions: what is checked of them, and their implementations of the
// interface Contraction, through which passes handle them without knowing their
// names.
#include "compiler/dialect/Ait.h"
#include "compiler/dialect/ElementTypes.h"

using namespace mlir;
using namespace mlir::ait;

namespace {
SmallVector<AffineExpr> getSizes(Value value) {
  return getSymbolicSizes(cast<RankedTensorType>(value.getType()));
}

AffineExpr countElements(Value value) {
  return getElementCount(cast<RankedTensorType>(value.getType()));
}

AffineExpr multiply(ArrayRef<AffineExpr> sizes, MLIRContext *context) {
  AffineExpr product = getAffineConstantExpr(1, context);
  for (AffineExpr size : sizes)
    product = canonicalizeSize(product * size);
  return product;
}

/// Attributes may be any numbers: their products fit into this.
using Wide = __int128;

/// Number of positions of a window of `kernel` taps along an axis.
Wide countWindows(Wide size, Wide kernel, Wide stride, Wide padding,
                  Wide dilation) {
  Wide span = size + 2 * padding - dilation * (kernel - 1) - 1;
  return span < 0 ? 0 : span / stride + 1;
}

int64_t countTaps(ArrayRef<int64_t> filter) {
  return llvm::product_of(filter.drop_front(2));
}

/// Whether a matmul may multiply `left` with codes of a quantised weight:
/// floats, whose products are added up in f32, or codes of activations, whose
/// products are added up in i32.
bool isProductWithCodes(Type left, Type right, Type sum) {
  if (!right.isSignlessInteger(8) && !isFloatCode(right))
    return false;
  if (left.isF32() || isHalf(left))
    return sum.isF32();
  return left.isUnsignedInteger(8) && right.isSignlessInteger(8) &&
         sum.isSignlessInteger(32);
}
} // namespace

//===-- Matmul -----------------------------------------------------------===//

LogicalResult MatmulOp::verify() {
  RankedTensorType lhs = getLhs().getType();
  RankedTensorType rhs = getRhs().getType();
  RankedTensorType result = getType();
  int64_t rank = lhs.getRank();
  if (rank < 2 || rhs.getRank() < 2 || result.getRank() != rank ||
      (rhs.getRank() != rank && rhs.getRank() != 2))
    return emitOpError("needs lhs and result of one rank >= 2 and rhs of that "
                       "rank or 2, not ")
           << lhs << ", " << rhs << " and " << result;
  auto lhsSizes = getSymbolicSizes(lhs);
  auto rhsSizes = getSymbolicSizes(rhs);
  auto sizes = getSymbolicSizes(result);
  int64_t rhsRank = rhs.getRank();
  AffineExpr m = lhsSizes[rank - (getTransposeLhs() ? 1 : 2)];
  AffineExpr lhsK = lhsSizes[rank - (getTransposeLhs() ? 2 : 1)];
  AffineExpr rhsK = rhsSizes[rhsRank - (getTransposeRhs() ? 1 : 2)];
  AffineExpr n = rhsSizes[rhsRank - (getTransposeRhs() ? 2 : 1)];
  if (!mayBeEqual(lhsK, rhsK))
    return emitOpError("contracted sizes differ: ") << lhs << " and " << rhs;
  bool sizesFit =
      mayBeEqual(m, sizes[rank - 2]) && mayBeEqual(n, sizes[rank - 1]);
  for (int64_t axis = 0; axis < rank - 2; ++axis)
    sizesFit = sizesFit && mayBeEqual(lhsSizes[axis], sizes[axis]) &&
               (rhsRank != rank || mayBeEqual(rhsSizes[axis], sizes[axis]));
  if (!sizesFit)
    return emitOpError("result ")
           << result << " does not fit " << lhs << " and " << rhs;
  // f32 results of f16 and bf16 operands appear inside kernels.
  const Type left = lhs.getElementType(), right = rhs.getElementType(),
             sum = result.getElementType();
  if (!(left == right && (left == sum || sum.isF32())) &&
      !isProductWithCodes(left, right, sum))
    return emitOpError("element types ")
           << left << ", " << right << " and " << sum << " do not go together";
  return success();
}

KernelKind MatmulOp::getKernelKind() { return KernelKind::Matmul; }

OperandRead MatmulOp::getOperandRead(OpOperand &) {
  return OperandRead::Strided;
}

ProductSizes MatmulOp::getProductSizes() {
  SmallVector<AffineExpr> sizes = getSizes(getResult());
  const unsigned rank = sizes.size();
  return {
      multiply(ArrayRef(sizes).drop_back(2), getContext()),
      canonicalizeSize(sizes[rank - 2]), canonicalizeSize(sizes[rank - 1]),
      canonicalizeSize(getSizes(getLhs())[rank - (getTransposeLhs() ? 2 : 1)])};
}

AffineExpr MatmulOp::countFlops() {
  return countElements(getResult()) * getProductSizes().k * 2;
}

//===-- Convolution ------------------------------------------------------===//

namespace {

/// What a convolution and a transposed one require of their operands. `inputs`
/// and `outputs` are the channels that the filter is for, and `sizeOf` gives
/// the result's size along a spatial axis for the input's.
template <typename Op>
LogicalResult verifyConvolution(
    Op op, bool channelsLast, Wide inputs, Wide outputs,
    llvm::function_ref<Wide(unsigned axis, int64_t size)> sizeOf) {
  RankedTensorType input = op.getInput().getType();
  RankedTensorType filter = op.getFilter().getType();
  RankedTensorType result = op.getType();
  const int64_t channel = channelsLast ? input.getRank() - 1 : 1;
  const int64_t first = channelsLast ? 1 : 2; // spatial axis
  const int64_t groups = op.getGroups();
  if (input.getDimSize(channel) != inputs ||
      result.getDimSize(channel) != outputs || inputs % groups ||
      outputs % groups)
    return op.emitOpError("channels of ")
           << input << ", " << filter << " and " << result << " do not fit in "
           << groups << " groups";
  if (!mayBeEqual(getSymbolicSizes(input)[0], getSymbolicSizes(result)[0]))
    return op.emitOpError("batches of ")
           << input << " and " << result << " differ";
  for (int64_t axis = 0; axis < input.getRank() - 2; ++axis) {
    const int64_t size = input.getDimSize(first + axis);
    const int64_t resultSize = result.getDimSize(first + axis);
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(resultSize))
      continue;
    if (const Wide expected = sizeOf(axis, size); expected != resultSize)
      return op.emitOpError("axis ")
             << first + axis << " of " << result << " should have size "
             << static_cast<int64_t>(expected);
  }
  if (input.getElementType() != filter.getElementType() ||
      (input.getElementType() != result.getElementType() &&
       !result.getElementType().isF32()))
    return op.emitOpError("element types of ")
           << input << ", " << filter << " and " << result
           << " do not go together";
  return success();
}

/// Ranks, static sizes and the attributes that both have.
template <typename Op> LogicalResult verifyNumbers(Op op) {
  RankedTensorType input = op.getInput().getType();
  RankedTensorType filter = op.getFilter().getType();
  RankedTensorType result = op.getType();
  const int64_t rank = input.getRank(), spatial = rank - 2;
  if ((rank != 4 && rank != 5) || filter.getRank() != rank ||
      result.getRank() != rank)
    return op.emitOpError("needs one rank of 4 or 5, not ")
           << input << ", " << filter << " and " << result;
  if (!filter.hasStaticShape())
    return op.emitOpError("needs static channels and filter sizes");
  if (const int64_t groups = op.getGroups(); groups < 1)
    return op.emitOpError("groups must be at least 1, not ") << groups;
  SmallVector<std::tuple<StringRef, ArrayRef<int64_t>, int64_t>> lists = {
      {"stride", op.getStride(), 1},
      {"padding", op.getPadding(), 0},
      {"dilation", op.getDilation(), 1}};
  if constexpr (std::is_same_v<Op, TransposedConvolutionOp>)
    lists.emplace_back("output_padding", op.getOutputPadding(), 0);
  for (auto [name, numbers, least] : lists)
    if (static_cast<int64_t>(numbers.size()) != spatial ||
        llvm::any_of(numbers, [least = least](int64_t number) {
          return number < least;
        }))
      return op.emitOpError(name) << " needs " << spatial << " numbers ("
                                  << (spatial == 3 ? "depth, " : "")
                                  << "height, width), each at least " << least;
  return success();
}

} // namespace

LogicalResult ConvolutionOp::verify() {
  if (failed(verifyNumbers(*this)))
    return failure();
  ArrayRef<int64_t> filter = getFilter().getType().getShape();
  return verifyConvolution(
      *this, getChannelsLast(), Wide(filter[1]) * getGroups(), filter[0],
      [&](unsigned axis, int64_t size) {
        return countWindows(size, filter[2 + axis], getStride()[axis],
                            getPadding()[axis], getDilation()[axis]);
      });
}

LogicalResult TransposedConvolutionOp::verify() {
  if (failed(verifyNumbers(*this)))
    return failure();
  ArrayRef<int64_t> filter = getFilter().getType().getShape();
  return verifyConvolution(
      *this, /*channelsLast=*/false, filter[0], Wide(filter[1]) * getGroups(),
      [&](unsigned axis, int64_t size) {
        return Wide(size - 1) * getStride()[axis] -
               2 * Wide(getPadding()[axis]) +
               Wide(getDilation()[axis]) * (filter[2 + axis] - 1) +
               getOutputPadding()[axis] + 1;
      });
}

KernelKind ConvolutionOp::getKernelKind() { return KernelKind::Convolution; }

OperandRead ConvolutionOp::getOperandRead(OpOperand &) {
  return OperandRead::Dense;
}

ProductSizes ConvolutionOp::getProductSizes() {
  SmallVector<AffineExpr> sizes = getSizes(getResult());
  const unsigned channel = getChannelsLast() ? sizes.size() - 1 : 1;
  const AffineExpr channels = sizes[channel];
  sizes.erase(sizes.begin() + channel);
  ArrayRef<int64_t> filter = getFilter().getType().getShape();
  const int64_t groups = getGroups();
  return {getAffineConstantExpr(groups, getContext()),
          multiply(sizes, getContext()),
          canonicalizeSize(channels.floorDiv(groups)),
          getAffineConstantExpr(filter[1] * countTaps(filter), getContext())};
}

AffineExpr ConvolutionOp::countFlops() {
  ArrayRef<int64_t> filter = getFilter().getType().getShape();
  return countElements(getResult()) * (2 * filter[1] * countTaps(filter));
}

//===-- Attention --------------------------------------------------------===//

LogicalResult AttentionOp::verify() {
  RankedTensorType query = getQuery().getType();
  RankedTensorType key = getKey().getType();
  RankedTensorType value = getValue().getType();
  int64_t rank = query.getRank();
  if (rank < 2 || key.getRank() != rank || value.getRank() != rank ||
      getType().getRank() != rank)
    return emitOpError("needs query, key, value and result of one rank >= 2");
  auto querySizes = getSymbolicSizes(query);
  auto keySizes = getSymbolicSizes(key);
  auto valueSizes = getSymbolicSizes(value);
  bool fits = mayBeEqual(querySizes[rank - 1], keySizes[rank - 1]) &&
              mayBeEqual(keySizes[rank - 2], valueSizes[rank - 2]);
  for (int64_t axis = 0; axis < rank - 2; ++axis)
    fits = fits && mayBeEqual(querySizes[axis], keySizes[axis]) &&
           mayBeEqual(querySizes[axis], valueSizes[axis]);
  SmallVector<AffineExpr> expected(querySizes);
  expected.back() = valueSizes.back();
  if (!fits || !haveSameSizes(getType(),
                              getTensorType(expected, query.getElementType())))
    return emitOpError("sizes of ") << query << ", " << key << " and " << value
                                    << " do not give " << getType();
  if (query.getElementType() != key.getElementType() ||
      query.getElementType() != value.getElementType())
    return emitOpError("query, key and value differ in element type");
  auto mask = getMask() ? cast<RankedTensorType>(getMask().getType())
                        : RankedTensorType();
  if (getMaskedScore() && !(mask && (mask.getElementType().isInteger(1) ||
                                     mask.getElementType().isF32())))
    return emitOpError("has a masked_score but no mask of bool or f32");
  if (!mask)
    return success();
  expected.back() = keySizes[rank - 2];
  int64_t missing = rank - mask.getRank();
  bool maskFits = missing >= 0;
  for (int64_t axis = 0; maskFits && axis < mask.getRank(); ++axis)
    maskFits =
        mask.getDimSize(axis) == 1 ||
        mayBeEqual(getSymbolicSizes(mask)[axis], expected[axis + missing]);
  if (!maskFits || !(mask.getElementType().isInteger(1) ||
                     isa<FloatType>(mask.getElementType())))
    return emitOpError("mask of type ")
           << mask << " does not broadcast to query times key";
  return success();
}

KernelKind AttentionOp::getKernelKind() { return KernelKind::Attention; }

/// Tensor cores take heads whose elements are neighbours.
OperandRead AttentionOp::getOperandRead(OpOperand &operand) {
  return operand.get() == getMask() ? OperandRead::Elementwise
                                    : OperandRead::StridedRows;
}

/// Heads of the result need not be an axis of their own in memory.
bool AttentionOp::isWrittenThroughStrides() { return true; }

ProductSizes AttentionOp::getProductSizes() {
  SmallVector<AffineExpr> query = getSizes(getQuery());
  const unsigned rank = query.size();
  return {multiply(ArrayRef(query).drop_back(2), getContext()),
          canonicalizeSize(query[rank - 2]),
          canonicalizeSize(getSizes(getKey())[rank - 2]),
          canonicalizeSize(query[rank - 1])};
}

AffineExpr AttentionOp::countFlops() {
  const ProductSizes product = getProductSizes();
  AffineExpr width = getSizes(getValue()).back();
  AffineExpr rows = countElements(getResult()).floorDiv(width);
  return rows * product.n * (product.k + width) * 2;
}
