// Operations of linalg.generic bodies, as PointPrinter spells them.
#include "compiler/codegen/gpu/loops/PointPrinter.h"
#include "compiler/codegen/gpu/text/CudaScalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace aitune {

std::string PointPrinter::zero(Type type) { return "0"; }

std::string PointPrinter::constant(TypedAttr value) {
  return cudaConstant(value);
}

std::string PointPrinter::indexValue(AffineExpr expr, Type type) {
  std::string text = index(expr);
  return type.isInteger(64) ? "static_cast<long long>(" + text + ")" : text;
}

std::string PointPrinter::operation(Operation *op,
                                    MutableArrayRef<std::string> operands) {
  std::string type = cudaType(op->getResult(0).getType()),
              expression = cudaExpression(op, operands);
  if (type.empty() || expression.empty())
    return fail("no CUDA form of " + op->getName().getStringRef().str());
  std::string name = fresh("v");
  line("const " + type + " " + name + " = " + expression + ";");
  return name;
}

void PointPrinter::report(mlir::ait::ReportOp op, std::string failed,
                          std::string shown) {
  line("if (" + failed + ")");
  line("  reportFailure(checks, " + std::to_string(op.getCheck()) + ", " +
       shown + ");");
  reports = true;
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
    lhs->text += " && " + rhs->text;
    lhs->variesWithLane |= rhs->variesWithLane;
    lhs->dims.append(rhs->dims);
    return lhs;
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
  SmallVector<unsigned, 4> names = dimsOf(lhs);
  names.append(dimsOf(rhs));
  bool varies = false;
  PrintScope *lane = laneScope();
  if (lane && (lhs.isFunctionOfDim(*lane->laneDim) ||
               rhs.isFunctionOfDim(*lane->laneDim))) {
    // All lanes of a chunk are on one side of a threshold that is a multiple
    // of their number.
    varies = compare.getPredicate() == arith::CmpIPredicate::eq ||
             !isPack(*lane, decompose(lhs - rhs));
    if (!varies) {
      auto atFirst = [&](AffineExpr expr) {
        return indexWith(*lane, *lane->laneDim, lane->laneBase, expr);
      };
      return Condition{atFirst(lhs) + spelling + atFirst(rhs), false, names};
    }
  }
  return Condition{index(lhs) + spelling + index(rhs), varies, names};
}

std::string PointPrinter::select(scf::IfOp op, Value onTrue, Value onFalse,
                                 Body &body) {
  std::optional<Condition> known = indexCondition(op.getCondition(), body);
  std::string condition =
      known ? known->text : evaluate(op.getCondition(), body);
  std::string name = fresh("v");
  line(cudaType(onTrue.getType()) + " " + name + ";");
  auto inBranch = [&](const std::string &head, Value value,
                      const std::string &holds) {
    block(
        head,
        [&](PrintScope &scope) {
          scope.isBranch = true;
          scope.condition = known ? holds : "";
          scope.conditionVariesWithLane = known && known->variesWithLane;
          if (known)
            scope.conditionDims = known->dims;
        },
        [&] { line(name + " = " + evaluateApart(value, body) + ";"); });
  };
  inBranch("if (" + condition + ")", onTrue, condition);
  inBranch("else", onFalse, "!(" + condition + ")");
  return name;
}

} // namespace aitune
