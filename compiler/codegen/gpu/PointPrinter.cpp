#include "compiler/codegen/gpu/PointPrinter.h"

#include "compiler/codegen/cpu/loops/IndexMath.h"
#include "compiler/codegen/gpu/CudaScalar.h"
#include "compiler/dialect/Ait.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace aitune {
namespace {

constexpr unsigned kAllDims = 4096, kAllSymbols = 64;

AffineMap toKey(ArrayRef<AffineExpr> exprs, MLIRContext *context) {
  return AffineMap::get(kAllDims, kAllSymbols, exprs, context);
}

// Rounded down, as affine expressions are.
std::string remainder(const std::string &lhs, const std::string &rhs) {
  return "((" + lhs + " % " + rhs + " + " + rhs + ") % " + rhs + ")";
}
std::string quotient(const std::string &lhs, const std::string &rhs) {
  return "((" + lhs + " - " + remainder(lhs, rhs) + ") / " + rhs + ")";
}

} // namespace

std::string PointPrinter::fail(const std::string &reason) {
  if (error.empty())
    error = reason;
  return "0";
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
  PrintScope scope;
  scope.parent = current;
  scope.depth = current->depth + 1;
  setUp(scope);
  PrintScope *outer = current;
  current = &scope;
  body();
  current = outer;
  if (unroll)
    current->text += "#pragma unroll\n";
  line(head + " {");
  current->text += scope.text;
  line("}");
}

void PointPrinter::lanes(unsigned dim, int64_t count, const std::string &base,
                         llvm::function_ref<void()> body) {
  if (count == 1) {
    current->bindings[dim] = base;
    return body();
  }
  PrintScope scope;
  scope.parent = current;
  scope.depth = current->depth + 1;
  scope.laneDim = dim;
  scope.lanes = count;
  scope.laneBase = base;
  scope.bindings[dim] = "(" + base + " + j)";
  PrintScope *outer = current;
  current = &scope;
  body();
  current = outer;
  if (scope.text.empty())
    return;
  current->text += "#pragma unroll\n";
  line(llvm::formatv("for (int j = 0; j < {0}; ++j) {{", count));
  current->text += scope.text;
  line("}");
}

PrintScope *PointPrinter::laneScope() const {
  for (PrintScope *scope = current; scope; scope = scope->parent)
    if (scope->laneDim)
      return scope;
  return nullptr;
}

std::optional<DimRange> PointPrinter::range(unsigned dim) const {
  for (PrintScope *scope = current; scope; scope = scope->parent) {
    auto found = scope->ranges.find(dim);
    if (found != scope->ranges.end())
      return found->second;
  }
  return dims.range(dim);
}

const std::string *PointPrinter::binding(unsigned dim) const {
  for (PrintScope *scope = current; scope; scope = scope->parent) {
    auto found = scope->bindings.find(dim);
    if (found != scope->bindings.end())
      return &found->second;
  }
  return nullptr;
}

PrintScope *PointPrinter::placementOf(ArrayRef<AffineExpr> exprs) const {
  llvm::DenseSet<unsigned> used;
  for (AffineExpr expr : exprs)
    for (unsigned dim : dimsOf(expr))
      used.insert(dim);
  PrintScope *scope = current;
  while (scope->parent && !scope->isBranch &&
         llvm::none_of(used, [&](unsigned dim) {
           return scope->bindings.count(dim) != 0;
         }))
    scope = scope->parent;
  return scope;
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

void PointPrinter::define(PrintScope *scope, Value tensor,
                          ArrayRef<AffineExpr> exprs, const std::string &name) {
  scope->known[{tensor, toKey(exprs, tensor.getContext())}] = name;
}

std::string PointPrinter::pull(Value tensor, ArrayRef<AffineExpr> exprs) {
  PrintScope::Key key{tensor, toKey(exprs, tensor.getContext())};
  for (PrintScope *scope = current; scope; scope = scope->parent) {
    auto found = scope->known.find(key);
    if (found != scope->known.end())
      return found->second;
  }
  PrintScope *outer = current;
  current = placementOf(exprs);
  std::string text = pullHere(tensor, exprs);
  current->known[key] = text;
  current = outer;
  return text;
}

std::string PointPrinter::pullHere(Value tensor, ArrayRef<AffineExpr> exprs) {
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return load(argument, exprs);
  Operation *op = tensor.getDefiningOp();
  auto ranges = [this](unsigned dim) { return range(dim); };
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op)) {
    SmallVector<AffineExpr> source = reshapeIndex(op, exprs, ranges);
    return pull(op->getOperand(0), source);
  }
  if (auto bitcast = dyn_cast<tensor::BitcastOp>(op))
    return pull(bitcast.getSource(), exprs);
  if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    Attribute constant;
    if (matchPattern(fill.getInputs()[0], m_Constant(&constant)))
      return cudaConstant(constant);
    return fail("a tensor filled with a number that is not constant");
  }
  if (isa<tensor::EmptyOp>(op)) // only its sizes count
    return "0";
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic)
    return fail("no CUDA form of " + op->getName().getStringRef().str());
  unsigned result = cast<OpResult>(tensor).getResultNumber();
  if (isScan(generic))
    return scan(generic, exprs);
  if (hasReductionLoops(generic)) {
    reduce(generic, result, exprs);
    PrintScope::Key key{tensor, toKey(exprs, tensor.getContext())};
    auto found = current->known.find(key);
    return found == current->known.end() ? fail("a reduction left no result")
                                         : found->second;
  }
  Body body{generic, bindLoops(generic, result, exprs),
            llvm::DenseMap<Value, std::string>()};
  for (AffineExpr &loop : body.loops)
    if (!loop)
      return fail("a loop that its result does not determine");
  return evaluate(generic.getBody()->getTerminator()->getOperand(result), body);
}

void PointPrinter::step(linalg::GenericOp generic, ArrayRef<AffineExpr> loops,
                        ArrayRef<std::string> accumulators) {
  Body body{generic, SmallVector<AffineExpr>(loops),
            llvm::DenseMap<Value, std::string>()};
  unsigned inputs = generic.getNumDpsInputs();
  Block *block = generic.getBody();
  for (auto [i, accumulator] : llvm::enumerate(accumulators))
    body.known[block->getArgument(inputs + i)] = accumulator;
  SmallVector<std::string> values;
  for (Value yielded : block->getTerminator()->getOperands())
    values.push_back(evaluate(yielded, body));
  for (auto [accumulator, value] : llvm::zip(accumulators, values))
    line(accumulator + " = " + value + ";");
}

} // namespace aitune
