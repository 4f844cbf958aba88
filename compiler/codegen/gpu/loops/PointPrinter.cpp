#include "compiler/codegen/gpu/loops/PointPrinter.h"

#include "compiler/codegen/gpu/text/CudaScalar.h"
#include "compiler/codegen/loops/PointWalkerImpl.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace aitune {

template class PointWalker<PrintScope>;

namespace {

// Rounded down, as affine expressions are.
std::string remainder(const std::string &lhs, const std::string &rhs) {
  return "((" + lhs + " % " + rhs + " + " + rhs + ") % " + rhs + ")";
}
std::string quotient(const std::string &lhs, const std::string &rhs) {
  return "((" + lhs + " - " + remainder(lhs, rhs) + ") / " + rhs + ")";
}

} // namespace

std::string PointPrinter::fail(const std::string &reason) {
  return PointWalker::fail(nullptr, reason);
}

void PointPrinter::lineIn(PrintScope *scope, const std::string &text) {
  scope->text += std::string(scope->depth * 2, ' ') + text + "\n";
}

void PointPrinter::line(const std::string &text) { lineIn(current, text); }

std::string PointPrinter::fresh(const char *prefix) {
  return prefix + std::to_string(counters[prefix]++);
}

void PointPrinter::block(const std::string &head,
                         llvm::function_ref<void(PrintScope &)> setUp,
                         llvm::function_ref<void()> body, bool unroll) {
  std::string text;
  inScope(
      [&](PrintScope &scope) {
        scope.depth = current->depth + 1;
        setUp(scope);
      },
      [&] {
        body();
        text = std::move(current->text);
      });
  if (unroll)
    current->text += "#pragma unroll\n";
  line(head + " {");
  current->text += text;
  line("}");
}

void PointPrinter::part(llvm::function_ref<void()> body) {
  std::string text;
  inScope([&](PrintScope &scope) { scope.depth = current->depth; },
          [&] {
            body();
            text = std::move(current->text);
          });
  current->text += text;
}

void PointPrinter::lanes(unsigned dim, int64_t count, const std::string &base,
                         llvm::function_ref<void()> body) {
  if (count == 1) {
    current->bindings[dim] = base;
    return body();
  }
  std::string text;
  inScope(
      [&](PrintScope &scope) {
        scope.depth = current->depth + 1;
        scope.laneDim = dim;
        scope.lanes = count;
        scope.laneBase = base;
        scope.bindings[dim] = "(" + base + " + j)";
      },
      [&] {
        body();
        text = std::move(current->text);
      });
  if (text.empty())
    return;
  current->text += "#pragma unroll\n";
  line(llvm::formatv("for (int j = 0; j < {0}; ++j) {{", count));
  current->text += text;
  line("}");
}

void PointPrinter::bind(const LoopGroup &group, const std::string &value) {
  for (unsigned dim : ArrayRef(group.dims).drop_back())
    current->bindings[dim] = "0";
  unsigned last = group.dims.back();
  current->bindings[last] = value;
  if (group.dims.size() > 1)
    current->ranges[last] =
        DimRange{getAffineConstantExpr(0, group.size.getContext()), group.size};
}

std::string PointPrinter::indexWith(PrintScope &scope, unsigned dim,
                                    const std::string &value, AffineExpr expr) {
  auto [bound, isNew] = scope.bindings.try_emplace(dim);
  std::string before = std::exchange(bound->second, value);
  std::string text = index(expr);
  if (isNew)
    scope.bindings.erase(dim);
  else
    scope.bindings[dim] = before;
  return text;
}

std::string PointPrinter::index(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() < 0
               ? "(" + std::to_string(constant.getValue()) + ")"
               : std::to_string(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    const std::string *text = binding(dim.getPosition());
    return text ? *text : fail("an index depends on a loop that is not open");
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return "s" + std::to_string(symbol.getPosition());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  AffineExpr right = binary.getRHS();
  std::string lhs = index(binary.getLHS());
  auto number = dyn_cast<AffineConstantExpr>(right);
  auto group = [](const std::string &text) { return "(" + text + ")"; };
  switch (expr.getKind()) {
  case AffineExprKind::Add: {
    if (lhs == "0")
      return index(right);
    if (!number && index(right) == "0")
      return lhs;
    if (number && number.getValue() < 0)
      return group(lhs + " - " + std::to_string(-number.getValue()));
    return group(lhs + " + " + index(right));
  }
  case AffineExprKind::Mul:
    if (number && number.getValue() == -1)
      return group("-" + lhs);
    if (lhs == "0" || index(right) == "0")
      return "0";
    return lhs + " * " + index(right);
  case AffineExprKind::Mod:
    if (lhs == "0")
      return lhs;
    if (mayBeNegative(binary.getLHS()))
      return remainder(lhs, divisor(right));
    return group(lhs + " % " + divisor(right));
  case AffineExprKind::FloorDiv:
    if (lhs == "0")
      return lhs;
    if (mayBeNegative(binary.getLHS()))
      return quotient(lhs, divisor(right));
    return group(lhs + " / " + divisor(right));
  case AffineExprKind::CeilDiv: {
    std::string above = group(lhs + " + " + divisor(right) + " - 1");
    if (mayBeNegative(binary.getLHS()))
      return quotient(above, divisor(right));
    return group(above + " / " + divisor(right));
  }
  default:
    return fail("an index expression of an unknown kind");
  }
}

std::string PointPrinter::divisor(AffineExpr expr) {
  std::string text = index(expr);
  return expr.getKind() == AffineExprKind::Mul ? "(" + text + ")" : text;
}

void PointPrinter::step(linalg::GenericOp generic, ArrayRef<AffineExpr> loops,
                        ArrayRef<std::string> accumulators) {
  SmallVector<std::string> values;
  evaluateStep(generic, loops, accumulators,
               [&](size_t, std::string value) { values.push_back(value); });
  for (auto [accumulator, value] : llvm::zip(accumulators, values))
    line(accumulator + " = " + value + ";");
}

} // namespace aitune
