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
  if (left.isF32() || left.isF16() || left.isBF16())
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

LogicalResult ConvolutionOp::verify() {
  RankedTensorType input = getInput().getType();
  RankedTensorType filter = getFilter().getType();
  RankedTensorType result = getType();
  const int64_t rank = input.getRank(), spatial = rank - 2;
  if ((rank != 4 && rank != 5) || filter.getRank() != rank ||
      result.getRank() != rank)
    return emitOpError("needs one rank of 4 or 5, not ")
           << input << ", " << filter << " and " << result;
  auto check = [&](StringRef name, ArrayRef<int64_t> numbers, int64_t least) {
    if (static_cast<int64_t>(numbers.size()) == spatial &&
        llvm::all_of(numbers, [&](int64_t n) { return n >= least; }))
      return success();
    return LogicalResult(emitOpError(name)
                         << " needs " << spatial << " numbers ("
                         << (spatial == 3 ? "depth, " : "")
                         << "height, width), each at least " << least);
  };
  if (failed(check("stride", getStride(), 1)) ||
      failed(check("padding", getPadding(), 0)) ||
      failed(check("dilation", getDilation(), 1)) ||
      failed(check("output_padding", getOutputPadding(), 0)))
    return failure();
  int64_t groups = getGroups();
  if (groups < 1)
    return emitOpError("groups must be at least 1, not ") << groups;
  int64_t channel = getChannelsLast() ? rank - 1 : 1;
  int64_t first = getChannelsLast() ? 1 : 2; // spatial axis
  int64_t inFilter = filter.getDimSize(getTransposed() ? 0 : 1);
  int64_t outFilter = filter.getDimSize(getTransposed() ? 1 : 0);
  int64_t in = input.getDimSize(channel), out = result.getDimSize(channel);
  if (!filter.hasStaticShape() || ShapedType::isDynamic(in) ||
      ShapedType::isDynamic(out))
    return emitOpError("needs static channels and filter sizes");
  if (in % groups || out % groups ||
      in / (getTransposed() ? 1 : groups) != inFilter ||
      out / (getTransposed() ? groups : 1) != outFilter)
    return emitOpError("channels of ")
           << input << ", " << filter << " and " << result << " do not fit in "
           << groups << " groups";
  if (!mayBeEqual(getSymbolicSizes(input)[0], getSymbolicSizes(result)[0]))
    return emitOpError("batches of ")
           << input << " and " << result << " differ";
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t size = input.getDimSize(first + i);
    int64_t resultSize = result.getDimSize(first + i);
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(resultSize))
      continue;
    Wide expected =
        getTransposed()
            ? Wide(size - 1) * getStride()[i] - 2 * Wide(getPadding()[i]) +
                  Wide(getDilation()[i]) * (filter.getDimSize(2 + i) - 1) +
                  getOutputPadding()[i] + 1
            : countWindows(size, filter.getDimSize(2 + i), getStride()[i],
                           getPadding()[i], getDilation()[i]);
    if (expected != resultSize)
      return emitOpError("axis ")
             << first + i << " of " << result << " should have size "
             << static_cast<int64_t>(expected);
  }
  if (input.getElementType() != filter.getElementType() ||
      (input.getElementType() != result.getElementType() &&
       !result.getElementType().isF32()))
    return emitOpError("element types of ")
           << input << ", " << filter << " and " << result
           << " do not go together";
  return success();
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
  const int64_t inputs = getTransposed() ? filter[0] / groups : filter[1];
  return {getAffineConstantExpr(groups, getContext()),
          multiply(sizes, getContext()),
          canonicalizeSize(channels.floorDiv(groups)),
          getAffineConstantExpr(inputs * countTaps(filter), getContext())};
}

AffineExpr ConvolutionOp::countFlops() {
  ArrayRef<int64_t> filter = getFilter().getType().getShape();
  // Each element of the input, if transposed, else of the result.
  return countElements(getTransposed() ? Value(getInput())
                                       : Value(getResult())) *
         (2 * filter[1] * countTaps(filter));
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
  if (getMaskedScore() && !(mask && mask.getElementType().isInteger(1)))
    return emitOpError("has a masked_score but no boolean mask");
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
