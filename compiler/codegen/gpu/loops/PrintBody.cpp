// Evaluation of linalg.generic bodies, on demand from what they yield.
#include "compiler/codegen/gpu/loops/PointPrinter.h"
#include "compiler/codegen/gpu/text/CudaScalar.h"
#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace aitune {

AffineExpr PointPrinter::indexOf(Value value, Body &body) {
  // Known only when the code runs: a dim of its own, bound here.
  return trackIndex(value, body.loops, [&](Value ofData) {
    std::string number = evaluate(ofData, body);
    AffineExpr dim = dims.makeOpaque(ofData.getContext());
    current->bindings[cast<AffineDimExpr>(dim).getPosition()] = number;
    return dim;
  });
}

std::optional<bool> PointPrinter::decide(Value condition, Body &body) {
  return decideCondition(condition, body.loops,
                         [this](unsigned dim) { return range(dim); });
}

std::optional<PointPrinter::Condition>
PointPrinter::indexCondition(Value condition, Body &body) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    if (std::optional<bool> decided = decide(both.getLhs(), body);
        decided && *decided)
      return indexCondition(both.getRhs(), body);
    if (std::optional<bool> decided = decide(both.getRhs(), body);
        decided && *decided)
      return indexCondition(both.getLhs(), body);
    std::optional<Condition> lhs = indexCondition(both.getLhs(), body),
                             rhs = indexCondition(both.getRhs(), body);
    if (!lhs || !rhs)
      return std::nullopt;
    return Condition{lhs->text + " && " + rhs->text,
                     lhs->variesWithLane || rhs->variesWithLane};
  }
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return std::nullopt;
  const char *spelling = nullptr;
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::slt:
    spelling = " < ";
    break;
  case arith::CmpIPredicate::sge:
    spelling = " >= ";
    break;
  case arith::CmpIPredicate::eq:
    spelling = " == ";
    break;
  default:
    return std::nullopt;
  }
  AffineExpr lhs = trackIndex(compare.getLhs(), body.loops),
             rhs = trackIndex(compare.getRhs(), body.loops);
  if (!lhs || !rhs)
    return std::nullopt;
  bool varies = false;
  PrintScope *lane = laneScope();
  if (lane && (lhs.isFunctionOfDim(*lane->laneDim) ||
               rhs.isFunctionOfDim(*lane->laneDim))) {
    // All lanes of a chunk are on one side of a threshold that is a multiple
    // of their number.
    varies = compare.getPredicate() == arith::CmpIPredicate::eq ||
             !isPack(*lane, decompose(lhs - rhs));
    if (!varies) {
      std::string &bound = lane->bindings[*lane->laneDim];
      std::string kept = bound;
      bound = lane->laneBase;
      std::string text = index(lhs) + spelling + index(rhs);
      lane->bindings[*lane->laneDim] = kept;
      return Condition{text, false};
    }
  }
  return Condition{index(lhs) + spelling + index(rhs), varies};
}

std::string PointPrinter::evaluateBranch(scf::IfOp op, unsigned result,
                                         Body &body) {
  Value onTrue = op.thenYield().getOperand(result),
        onFalse = op.elseYield().getOperand(result);
  if (std::optional<bool> decided = decide(op.getCondition(), body))
    return evaluate(*decided ? onTrue : onFalse, body);
  std::optional<Condition> known = indexCondition(op.getCondition(), body);
  std::string condition =
      known ? known->text : evaluate(op.getCondition(), body);
  std::string name = fresh("v");
  line(cudaType(op.getResult(result).getType()) + " " + name + ";");
  // Values found in a branch are not known after it.
  auto inBranch = [&](const std::string &head, Value value,
                      const std::string &holds) {
    Body copy = body;
    block(
        head,
        [&](PrintScope &scope) {
          scope.isBranch = true;
          scope.condition = known ? holds : "";
          scope.conditionVariesWithLane = known && known->variesWithLane;
        },
        [&] { line(name + " = " + evaluate(value, copy) + ";"); });
  };
  inBranch("if (" + condition + ")", onTrue, condition);
  inBranch("else", onFalse, "!(" + condition + ")");
  return name;
}

std::string PointPrinter::evaluate(Value value, Body &body) {
  auto found = body.known.find(value);
  if (found != body.known.end())
    return found->second;
  std::string result;
  Attribute constant;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    OpOperand &operand = body.generic->getOpOperand(argument.getArgNumber());
    SmallVector<AffineExpr> exprs;
    for (AffineExpr expr :
         body.generic.getMatchingIndexingMap(&operand).getResults())
      exprs.push_back(expr.replaceDims(body.loops));
    result = pull(operand.get(), exprs);
  } else if (matchPattern(value, m_Constant(&constant))) {
    result = cudaConstant(constant);
  } else if (AffineExpr expr = trackIndex(value, body.loops)) {
    result = index(expr);
    if (value.getType().isInteger(64))
      result = "static_cast<long long>(" + result + ")";
  } else if (value.getDefiningOp<affine::AffineApplyOp>()) {
    result = index(indexOf(value, body));
  } else {
    Operation *op = value.getDefiningOp();
    if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      SmallVector<AffineExpr> exprs;
      for (Value at : extract.getIndices())
        exprs.push_back(indexOf(at, body));
      result = pull(extract.getTensor(), exprs);
    } else if (auto report = dyn_cast<mlir::ait::ReportOp>(op)) {
      result = evaluate(report.getValue(), body);
      std::string failed = evaluate(report.getFailed(), body),
                  shown = evaluate(report.getShown(), body);
      line("if (" + failed + ")");
      line("  reportFailure(checks, " + std::to_string(report.getCheck()) +
           ", " + shown + ");");
      reports = true;
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      result =
          evaluateBranch(branch, cast<OpResult>(value).getResultNumber(), body);
    } else if (op->getNumResults() != 1 || op->getNumRegions() != 0) {
      result = fail("no CUDA form of " + op->getName().getStringRef().str());
    } else {
      SmallVector<std::string> operands;
      for (Value operand : op->getOperands())
        operands.push_back(evaluate(operand, body));
      std::string type = cudaType(value.getType()),
                  expression = cudaExpression(op, operands);
      if (type.empty() || expression.empty())
        return fail("no CUDA form of " + op->getName().getStringRef().str());
      result = fresh("v");
      line("const " + type + " " + result + " = " + expression + ";");
    }
  }
  body.known[value] = result;
  return result;
}

} // namespace aitune
