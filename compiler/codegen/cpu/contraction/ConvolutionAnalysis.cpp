#include "compiler/codegen/cpu/contraction/Convolution.h"

#include "compiler/codegen/contraction/ContractionAnalysis.h"
#include "compiler/dialect/KernelAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {
namespace {

/// Channels below which the inner loop over one tap is too short.
constexpr int64_t kFewInputs = 8;

int64_t getConstantOr(AffineExpr expr, int64_t otherwise) {
  auto constant = dyn_cast<AffineConstantExpr>(expr);
  return constant ? constant.getValue() : otherwise;
}

/// The stride of an axis that is one run; fails for others.
FailureOr<AffineExpr> getStride(const LayoutAxis &axis, MLIRContext *context,
                                std::string &reason) {
  if (axis.empty())
    return getAffineConstantExpr(0, context);
  if (axis.size() > 1) {
    reason = "the convolution's input is a view with no single stride an axis";
    return failure();
  }
  return axis.front().stride;
}

LogicalResult readSizes(ait::ConvolutionOp op, ConvolutionProblem &problem,
                        std::string &reason) {
  auto inputType = cast<RankedTensorType>(op.getInput().getType());
  auto filterType = cast<RankedTensorType>(op.getFilter().getType());
  auto resultType = cast<RankedTensorType>(op.getType());
  const bool isDepthwise =
      op.getGroups() > 1 && filterType.getRank() == 4 &&
      filterType.getDimSize(0) == int64_t(op.getGroups()) &&
      filterType.getDimSize(1) == 1;
  if (inputType.getRank() != 4 || !(op.getChannelsLast() || isDepthwise)) {
    reason = "generated convolutions are two-dimensional, and channels_last "
             "or depthwise";
    return failure();
  }
  if (!filterType.hasStaticShape()) {
    reason = "the filter's sizes depend on the input";
    return failure();
  }
  SmallVector<AffineExpr> inputSizes = ait::getSymbolicSizes(inputType),
                          outputSizes = ait::getSymbolicSizes(resultType);
  problem.batch = inputSizes[0];
  const unsigned row = op.getChannelsLast() ? 1 : 2;
  problem.height = inputSizes[row];
  problem.width = inputSizes[row + 1];
  problem.outputHeight = ait::canonicalizeSize(outputSizes[row]);
  problem.outputWidth = ait::canonicalizeSize(outputSizes[row + 1]);
  problem.groups = op.getGroups();
  problem.outputs = filterType.getDimSize(0) / problem.groups;
  problem.inputs = filterType.getDimSize(1);
  problem.kernelHeight = filterType.getDimSize(2);
  problem.kernelWidth = filterType.getDimSize(3);
  for (int axis = 0; axis < 2; ++axis) {
    problem.stride[axis] = op.getStride()[axis];
    problem.padding[axis] = op.getPadding()[axis];
    problem.dilation[axis] = op.getDilation()[axis];
  }
  return success();
}

/// The matmul that a 1x1 convolution of stride 1 is.
MatmulProblem makeMatmul(const ConvolutionProblem &problem,
                         const Target &target, MLIRContext *context) {
  MatmulProblem matmul;
  matmul.result = problem.result;
  matmul.batch = getAffineConstantExpr(1, context);
  matmul.m = ait::canonicalizeSize(problem.batch * problem.outputHeight *
                                   problem.outputWidth);
  matmul.n = getAffineConstantExpr(problem.outputs, context);
  matmul.k = getAffineConstantExpr(problem.inputs, context);
  matmul.lhs = problem.input;
  matmul.rhs = problem.filter;
  matmul.lhsRows = problem.input.layout.collapse(0, 3);
  matmul.lhsSteps = problem.input.layout.axes[3];
  matmul.packing = problem.packing;
  matmul.shape = problem.shape;
  useAmxWhereItFits(matmul, target);
  return matmul;
}

/// Half a vector of a CPU takes as long as a whole one. Where a group's results
/// are half a vector or a quarter of one, narrower vectors hold more rows: CPUs
/// issue at least as many of them at once. So it is with the rows of planes.
int64_t chooseVectorBits(const ConvolutionProblem &problem,
                         const Target &target) {
  constexpr int64_t kLeastBits = 128;
  if (problem.form == ConvolutionForm::Planes) {
    const int64_t width = getConstantOr(problem.outputWidth, 0);
    const int64_t bits = llvm::PowerOf2Ceil(width) *
                         problem.shape.format.sum.getIntOrFloatBitWidth();
    return width > 0 ? std::clamp(bits, kLeastBits, target.vectorBits)
                     : target.vectorBits;
  }
  const int64_t bits =
      problem.outputs * problem.shape.format.sum.getIntOrFloatBitWidth();
  const bool isNarrow = problem.groups > 1 && problem.outputs > 1 &&
                        problem.shape.kind == MicrokernelKind::FusedMultiplyAdd;
  return isNarrow && llvm::isPowerOf2_64(bits) && bits >= kLeastBits
             ? std::min(bits, target.vectorBits)
             : target.vectorBits;
}

} // namespace

Target withVectorsOf(const ConvolutionProblem &problem,
                     ConvolutionAlgorithm algorithm, const Target &target) {
  Target narrowed = target;
  narrowed.vectorBits = algorithm == ConvolutionAlgorithm::DirectHalfVectors
                            ? problem.vectorBits / 2
                            : problem.vectorBits;
  return narrowed;
}

bool isWinograd(ConvolutionAlgorithm algorithm) {
  return algorithm == ConvolutionAlgorithm::Winograd2x2 ||
         algorithm == ConvolutionAlgorithm::Winograd4x4;
}

bool mayUseHalfVectors(int64_t groups, int64_t outputs, int64_t lanes) {
  return groups > 1 && lanes > 1 && outputs > lanes && outputs % lanes != 0 &&
         outputs % (lanes / 2) == 0;
}

FailureOr<ConvolutionProblem> analyzeConvolution(func::FuncOp kernel,
                                                 const Target &target,
                                                 std::string &reason) {
  FailureOr<ContractionAnalysis> analysis = getContraction(kernel, reason);
  if (failed(analysis))
    return failure();
  auto op = dyn_cast<ait::ConvolutionOp>(analysis->op.getOperation());
  if (!op) {
    reason = "the kernel has no convolution";
    return failure();
  }
  ConvolutionProblem problem;
  problem.result = op.getResult();
  if (failed(readSizes(op, problem, reason)))
    return failure();
  for (auto [access, why] :
       llvm::zip_equal(analysis->operands, analysis->reasons))
    if (!access) {
      reason = why;
      return failure();
    }
  const std::optional<OperandAccess> &input = analysis->operands[0],
                                     &filter = analysis->operands[1];
  auto filterType = cast<RankedTensorType>(op.getFilter().getType());
  if (ait::getKnownAt(kernel, filter->argument) != ait::KnownAt::Load ||
      !kernel.getArgument(filter->argument).hasOneUse() ||
      !(filter->layout == getDenseLayout(filterType))) {
    reason = "the filter is not a constant of the model";
    return failure();
  }
  FailureOr<OperandFormat> format = getOperandFormat(
      input->storedType, filter->storedType,
      cast<RankedTensorType>(op.getType()).getElementType(), reason);
  if (failed(format))
    return failure();
  if (!isa<FloatType>(format->lhs) || !isa<FloatType>(format->rhs)) {
    reason = "generated convolutions are of f32, f64, f16 or bf16";
    return failure();
  }
  problem.input = *input;
  problem.filter = *filter;
  MLIRContext *context = kernel.getContext();
  const bool isPlanes = !op.getChannelsLast();
  SmallVector<AffineExpr *> strides{&problem.batchStride, &problem.rowStride,
                                    &problem.columnStride};
  if (isPlanes)
    strides = {&problem.batchStride, &problem.channelStride,
               &problem.rowStride};
  for (auto [axis, stride] : llvm::enumerate(strides)) {
    FailureOr<AffineExpr> found =
        getStride(input->layout.axes[axis], context, reason);
    if (failed(found))
      return failure();
    *stride = *found;
  }
  if (!isContiguous(input->layout.axes[3])) {
    reason = isPlanes
                 ? "the rows of the convolution's input are not contiguous"
                 : "the channels of the convolution's input are not contiguous";
    return failure();
  }

  int64_t lanes = target.vectorBits / format->sum.getIntOrFloatBitWidth();
  MatmulShape &shape = problem.shape;
  bool depthwise =
      problem.groups > 1 && problem.inputs == 1 && problem.outputs == 1;
  if (!depthwise && (problem.groups == 1 || problem.outputs % lanes == 0))
    shape.kind = useStoredFactors(*format, target);
  shape.format = *format;
  shape.copiesLhs = format->lhs != format->lhsFactor;
  bool pointwise = problem.kernelHeight == 1 && problem.kernelWidth == 1 &&
                   problem.stride[0] == 1 && problem.stride[1] == 1 &&
                   problem.padding[0] == 0 && problem.padding[1] == 0 &&
                   problem.groups == 1;
  if (isPlanes)
    problem.form = ConvolutionForm::Planes;
  else if (depthwise)
    problem.form = ConvolutionForm::Depthwise;
  else if (pointwise)
    problem.form = ConvolutionForm::Matmul;
  else if (shape.copiesLhs || problem.inputs < kFewInputs)
    problem.form = ConvolutionForm::Segments;
  else
    problem.form = ConvolutionForm::Taps;
  problem.vectorBits = chooseVectorBits(problem, target);
  problem.packing = depthwise ? ait::PackedLayout::Depthwise
                              : ait::PackedLayout::ConvolutionPanels;
  problem.tapSteps = llvm::alignTo(problem.inputs, format->stepsTogether);
  shape.batch = problem.groups;
  shape.m =
      getConstantOr(ait::canonicalizeSize(problem.batch * problem.outputHeight *
                                          problem.outputWidth),
                    -1);
  shape.n = problem.outputs;
  shape.k = problem.kernelHeight * problem.kernelWidth * problem.inputs;
  if (pointwise) {
    problem.matmul = makeMatmul(problem, target, context);
    shape = problem.matmul.shape;
  }
  return problem;
}

} // namespace aitune
