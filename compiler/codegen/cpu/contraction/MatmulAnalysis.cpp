#include "compiler/codegen/cpu/contraction/Matmul.h"

#include "compiler/dialect/ElementTypes.h"
#include "compiler/dialect/KernelAttributes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace aitune {
namespace {

int64_t getConstantOr(AffineExpr expr, int64_t otherwise) {
  auto constant = dyn_cast<AffineConstantExpr>(expr);
  return constant ? constant.getValue() : otherwise;
}

/// Whether [batch..., K, N] or its transpose lies dense in the buffer, as the
/// packing at load expects it: it knows K and N from the argument's last sizes.
/// With K or N of 1 the strides alone do not tell one from the other.
bool isDenseMatrix(const MatmulAccess &access, RankedTensorType argument,
                   AffineExpr k, AffineExpr n, bool &transposed) {
  MLIRContext *context = k.getContext();
  const Layout &layout = access.rhs.layout;
  if (layout.offset != getAffineConstantExpr(0, context))
    return false;
  AffineExpr one = getAffineConstantExpr(1, context);
  auto dense = [&](const LayoutAxis &outer, AffineExpr outerSize,
                   const LayoutAxis &inner, AffineExpr innerSize) {
    return inner == coalesce({{innerSize, one}}) &&
           outer == coalesce({{outerSize, innerSize}});
  };
  const LayoutAxis &steps = access.rhsSteps, &columns = access.rhsColumns;
  auto hasSizes = [&](AffineExpr outerSize, AffineExpr innerSize) {
    return argument.getRank() >= 2 &&
           argument.getShape().take_back(2) ==
               ArrayRef<int64_t>({getConstantOr(outerSize, -1),
                                  getConstantOr(innerSize, -1)});
  };
  transposed = !hasSizes(k, n) || !dense(steps, k, columns, n);
  if (transposed && (!hasSizes(n, k) || !dense(columns, n, steps, k)))
    return false;
  LayoutAxis batch = layout.collapse(0, layout.axes.size() - 2);
  return batch.empty() ||
         (batch.size() == 1 &&
          batch.front().stride == ait::canonicalizeSize(k * n));
}

} // namespace

FailureOr<MatmulProblem>
analyzeMatmul(func::FuncOp kernel, const Target &target, std::string &reason) {
  FailureOr<ContractionAnalysis> analysis = getContraction(kernel, reason);
  if (failed(analysis))
    return failure();
  auto matmul = dyn_cast<ait::MatmulOp>(analysis->op.getOperation());
  if (!matmul) {
    reason = "the kernel has no matmul";
    return failure();
  }
  FailureOr<MatmulAccess> access = getMatmulAccess(*analysis, reason);
  if (failed(access))
    return failure();
  const OperandAccess &lhs = access->lhs, &rhs = access->rhs;
  FailureOr<OperandFormat> format = getOperandFormat(
      lhs.storedType, rhs.storedType,
      cast<RankedTensorType>(matmul.getType()).getElementType(), reason);
  if (failed(format))
    return failure();
  if (ait::isFloatCode(format->lhs)) {
    llvm::raw_string_ostream(reason)
        << "matmuls with " << format->lhs
        << " on the left are generated for GPUs alone";
    return failure();
  }

  MatmulProblem problem;
  static_cast<MatmulAccess &>(problem) = *access;
  problem.result = matmul.getResult();
  problem.batch = analysis->batch;
  problem.m = analysis->m;
  problem.n = analysis->n;
  problem.k = analysis->k;
  MatmulShape &shape = problem.shape;
  bool packed =
      ait::getKnownAt(kernel, rhs.argument) == ait::KnownAt::Load &&
      getConstantOr(problem.n, -1) > 0 && getConstantOr(problem.k, -1) > 0 &&
      isDenseMatrix(
          *access,
          cast<RankedTensorType>(kernel.getArgument(rhs.argument).getType()),
          problem.k, problem.n, problem.packingTransposed);
  // Another reader of the argument would find it packed.
  packed = packed && kernel.getArgument(rhs.argument).hasOneUse();
  shape.m = getConstantOr(problem.m, -1);
  const bool widens = packed && format->widensCodes();
  if (packed) {
    // One row gains nothing from several steps at once, which codes take more
    // operations to bring together for.
    if (!widens)
      shape.kind = useStoredFactors(*format, target);
    else if (shape.m != 1)
      shape.kind = useWidenedCodes(*format, target);
    problem.packing = ait::PackedLayout::MatmulPanels;
  }
  // Few rows do not pay for a copy of the right side.
  const bool fewRows = shape.m >= 0 && shape.m <= 32;
  const bool copiesColumns = !isContiguous(problem.rhsColumns) ||
                             problem.rhsSteps.size() > 1 || !fewRows;
  // A copy may as well be one of pairs.
  if (!packed && copiesColumns && format->rhs.isBF16() && shape.m != 1)
    shape.kind = useStoredFactors(*format, target);
  shape.format = *format;
  shape.batch = getConstantOr(problem.batch, 1);
  shape.n = getConstantOr(problem.n, -1);
  shape.k = getConstantOr(problem.k, -1);
  // vpdpbusd reads four steps of a row also where fewer are left: a copy has
  // room for them. The code for pairs of bf16 reads an odd last step alone.
  shape.copiesLhs = lhs.storedType != format->lhsFactor ||
                    !isContiguous(problem.lhsSteps) ||
                    (shape.kind == MicrokernelKind::ByteQuads &&
                     shape.k % format->stepsTogether != 0);
  // Codes that many rows read are widened once a block, before the product;
  // the few rows of one tile widen them as they load them.
  const bool widensAhead = widens && (shape.m < 0 || shape.m > 16);
  shape.copiesRhs = packed ? widensAhead : copiesColumns;
  useAmxWhereItFits(problem, target);
  return problem;
}

void useAmxWhereItFits(MatmulProblem &problem, const Target &target) {
  MatmulShape &shape = problem.shape;
  const bool isThere =
      shape.kind == MicrokernelKind::Bf16Pairs
          ? target.hasAmxBf16
          : shape.kind == MicrokernelKind::ByteQuads && target.hasAmxInt8;
  if (!isThere || shape.k % getAmxSteps(shape.format.rhsFactor) != 0 ||
      (shape.m >= 0 && shape.m < 8))
    return;
  shape.kind = MicrokernelKind::AmxTiles;
  // Tiles are of factors, which codes are widened to.
  shape.copiesRhs |= shape.format.widensCodes();
  // Tiles read 16 rows of one stride; a copy has room for rows that do not
  // exist.
  if (problem.lhsRows.size() != 1 || shape.m < 0 || shape.m % 16 != 0)
    shape.copiesLhs = true;
}

} // namespace aitune
