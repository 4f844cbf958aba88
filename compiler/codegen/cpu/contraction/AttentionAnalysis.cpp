#include "compiler/codegen/contraction/ContractionAnalysis.h"
#include "compiler/codegen/cpu/contraction/Attention.h"

using namespace mlir;

namespace aitune {
namespace {

FailureOr<AttentionProblem::Operand>
analyzeOperand(const ContractionAnalysis &analysis, Value value,
               std::string &reason,
               std::optional<ViewStep> lastView = std::nullopt) {
  const size_t number =
      llvm::find(analysis.op->getOperands(), value).getIndex();
  std::optional<OperandAccess> access = analysis.operands[number];
  if (!access) {
    reason = analysis.reasons[number];
    return failure();
  }
  if (lastView) {
    FailureOr<Layout> layout = applyView(access->layout, *lastView, reason);
    if (failed(layout))
      return failure();
    access->layout = *layout;
  }
  unsigned rank = access->layout.axes.size();
  AttentionProblem::Operand operand{
      *access, access->layout.collapse(0, rank - 2),
      access->layout.axes[rank - 2], access->layout.axes[rank - 1]};
  return operand;
}

/// Queries from which the values are worth a copy in pairs, and from which AMX
/// tiles have enough rows.
constexpr int64_t kQueriesOfPairs = 4, kQueriesOfTiles = 16;

MicrokernelKind chooseKind(const AttentionProblem &problem,
                           const Target &target) {
  const auto isBf16 = [](const AttentionProblem::Operand &operand) {
    return operand.access.storedType.isBF16();
  };
  if (target.vectorBits != 512 || !target.hasAvx512Bf16 ||
      !isBf16(problem.query) || !isBf16(problem.key) || !isBf16(problem.value))
    return MicrokernelKind::FusedMultiplyAdd;
  auto known = dyn_cast<AffineConstantExpr>(problem.queries);
  const int64_t queries = known ? known.getValue() : kQueriesOfTiles;
  if (queries < kQueriesOfPairs)
    return MicrokernelKind::FusedMultiplyAdd;
  return target.hasAmxBf16 && queries >= kQueriesOfTiles
             ? MicrokernelKind::AmxTiles
             : MicrokernelKind::Bf16Pairs;
}

} // namespace

FailureOr<AttentionProblem> analyzeAttention(func::FuncOp kernel,
                                             const Target &target,
                                             std::string &reason) {
  FailureOr<ContractionAnalysis> analysis = getContraction(kernel, reason);
  if (failed(analysis))
    return failure();
  auto attention = dyn_cast<ait::AttentionOp>(analysis->op.getOperation());
  if (!attention) {
    reason = "the kernel has no attention";
    return failure();
  }
  FailureOr<AttentionProblem::Operand> query =
      analyzeOperand(*analysis, attention.getQuery(), reason);
  if (failed(query))
    return failure();
  FailureOr<AttentionProblem::Operand> key =
      analyzeOperand(*analysis, attention.getKey(), reason);
  if (failed(key))
    return failure();
  FailureOr<AttentionProblem::Operand> value =
      analyzeOperand(*analysis, attention.getValue(), reason);
  if (failed(value))
    return failure();
  SmallVector<AffineExpr> querySizes =
      ait::getSymbolicSizes(attention.getQuery().getType());
  SmallVector<AffineExpr> keySizes =
      ait::getSymbolicSizes(attention.getKey().getType());
  SmallVector<AffineExpr> valueSizes =
      ait::getSymbolicSizes(attention.getValue().getType());
  unsigned rank = querySizes.size();
  auto depth = dyn_cast<AffineConstantExpr>(querySizes[rank - 1]);
  auto valueDepth = dyn_cast<AffineConstantExpr>(valueSizes[rank - 1]);
  if (!depth || !valueDepth || depth.getValue() > 512 ||
      valueDepth.getValue() > 512) {
    reason = "a generated attention has heads of a known depth of at most 512";
    return failure();
  }
  for (const auto &operand : {*query, *key, *value}) {
    Type type = operand.access.storedType;
    if (!type.isF32() && !type.isF16() && !type.isBF16()) {
      reason = "generated attentions are of f32, f16 or bf16";
      return failure();
    }
  }
  if (isContiguous(value->columnAxis) && value->rowAxis.size() > 1) {
    reason = "the rows of the values have no single stride";
    return failure();
  }
  std::optional<double> maskedScore;
  if (std::optional<APFloat> score = attention.getMaskedScore())
    maskedScore = score->convertToDouble();
  AttentionProblem problem{attention.getResult(),
                           getAffineConstantExpr(1, kernel.getContext()),
                           ait::canonicalizeSize(querySizes[rank - 2]),
                           ait::canonicalizeSize(keySizes[rank - 2]),
                           depth.getValue(),
                           valueDepth.getValue(),
                           attention.getScale().convertToDouble(),
                           attention.getIsCausal(),
                           attention.getMaskedRowsAreNan(),
                           maskedScore,
                           *query,
                           *key,
                           *value,
                           std::nullopt};
  ViewStep whole{ViewStep::Kind::Expand, {}, {}, {}, {}};
  for (unsigned axis = 0; axis + 2 < rank; ++axis) {
    problem.batch = ait::canonicalizeSize(problem.batch * querySizes[axis]);
    whole.sizes.push_back(querySizes[axis]);
  }
  if (Value mask = attention.getMask()) {
    whole.sizes.push_back(problem.queries);
    whole.sizes.push_back(problem.keys);
    FailureOr<AttentionProblem::Operand> operand =
        analyzeOperand(*analysis, mask, reason, whole);
    if (failed(operand))
      return failure();
    Type type = operand->access.storedType;
    if (!type.isInteger(1) && !type.isF32() && !type.isF16() &&
        !type.isBF16()) {
      reason = "the mask of a generated attention is bool, f32, f16 or bf16";
      return failure();
    }
    problem.mask = *operand;
  }
  problem.kind = chooseKind(problem, target);
  return problem;
}

} // namespace aitune
