// The members of PointWalker. Only the source file that instantiates the walker
// for a device includes this.
#ifndef AITUNE_COMPILER_CODEGEN_LOOPS_POINTWALKERIMPL_H
#define AITUNE_COMPILER_CODEGEN_LOOPS_POINTWALKERIMPL_H

#include "compiler/codegen/loops/PointWalker.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

namespace aitune {

template <typename Scope>
typename Scope::Element PointWalker<Scope>::fail(mlir::Type type,
                                                 const std::string &reason) {
  if (error.empty())
    error = reason;
  return zero(type);
}

template <typename Scope>
void PointWalker<Scope>::inScope(llvm::function_ref<void(Scope &)> setUp,
                                 llvm::function_ref<void()> body) {
  Scope scope;
  scope.parent = current;
  setUp(scope);
  current = &scope;
  body();
  current = scope.parent;
}

template <typename Scope>
void PointWalker<Scope>::runIn(Scope *scope, llvm::function_ref<void()> body) {
  Scope *origin = current;
  current = scope;
  body();
  current = origin;
}

template <typename Scope> Scope *PointWalker<Scope>::laneScope() const {
  for (Scope *scope = current; scope; scope = scope->parent)
    if (scope->laneDim)
      return scope;
  return nullptr;
}

template <typename Scope>
std::optional<DimRange> PointWalker<Scope>::range(unsigned dim) const {
  for (Scope *scope = current; scope; scope = scope->parent) {
    auto found = scope->ranges.find(dim);
    if (found != scope->ranges.end())
      return found->second;
  }
  return dims.range(dim);
}

template <typename Scope>
const typename Scope::Element *PointWalker<Scope>::binding(unsigned dim) const {
  for (Scope *scope = current; scope; scope = scope->parent) {
    auto found = scope->bindings.find(dim);
    if (found != scope->bindings.end())
      return &found->second;
  }
  return nullptr;
}

template <typename Scope>
void PointWalker<Scope>::define(Scope *scope, mlir::Value tensor,
                                llvm::ArrayRef<mlir::AffineExpr> exprs,
                                const Element &element) {
  scope->known[{tensor, toKey(exprs, tensor.getContext())}] = element;
}

template <typename Scope>
Scope *
PointWalker<Scope>::placementOf(llvm::ArrayRef<mlir::AffineExpr> exprs) const {
  Scope *scope = current;
  auto bindsOne = [&] {
    return llvm::any_of(scope->bindings, [&](const auto &binding) {
      return llvm::any_of(exprs, [&](mlir::AffineExpr expr) {
        return expr.isFunctionOfDim(binding.first);
      });
    });
  };
  while (scope->parent && !scope->isBranch && !bindsOne())
    scope = scope->parent;
  return scope;
}

template <typename Scope>
typename Scope::Element
PointWalker<Scope>::pull(mlir::Value tensor,
                         llvm::ArrayRef<mlir::AffineExpr> exprs) {
  typename Scope::Key key{tensor, toKey(exprs, tensor.getContext())};
  for (Scope *scope = current; scope; scope = scope->parent) {
    auto found = scope->known.find(key);
    if (found != scope->known.end())
      return found->second;
  }
  Element element;
  runIn(placementOf(exprs), [&] {
    element = pullHere(tensor, exprs);
    current->known[key] = element;
  });
  return element;
}

template <typename Scope>
typename Scope::Element
PointWalker<Scope>::pullHere(mlir::Value tensor,
                             llvm::ArrayRef<mlir::AffineExpr> exprs) {
  if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(tensor))
    return load(argument, exprs);
  mlir::Operation *op = tensor.getDefiningOp();
  mlir::Type elementType = mlir::getElementTypeOrSelf(tensor);
  if (mlir::isa<mlir::tensor::CollapseShapeOp, mlir::tensor::ExpandShapeOp>(op))
    return pull(op->getOperand(0), reshapeIndex(op, exprs, [&](unsigned dim) {
                  return range(dim);
                }));
  if (mlir::isa<mlir::tensor::BitcastOp>(op))
    return pull(op->getOperand(0), exprs);
  if (auto fill = mlir::dyn_cast<mlir::linalg::FillOp>(op)) {
    mlir::Attribute number;
    if (mlir::matchPattern(fill.getInputs()[0], mlir::m_Constant(&number)))
      return constant(mlir::cast<mlir::TypedAttr>(number));
    return fail(elementType,
                "a tensor filled with a number that is not constant");
  }
  if (mlir::isa<mlir::tensor::EmptyOp>(op)) // only its sizes count
    return zero(elementType);
  auto generic = mlir::dyn_cast<mlir::linalg::GenericOp>(op);
  if (!generic)
    return fail(elementType, "a loop kernel has no element of " +
                                 op->getName().getStringRef().str());
  unsigned result = mlir::cast<mlir::OpResult>(tensor).getResultNumber();
  if (isScan(generic))
    return scanHere(generic, exprs);
  if (hasReductionLoops(generic))
    return reduceHere(generic, result, exprs);
  if (std::optional<Element> kept = reload(tensor, exprs))
    return *kept;
  Body body(generic, bindLoops(generic, result, exprs));
  if (llvm::is_contained(body.loops, mlir::AffineExpr()))
    return fail(elementType, "a loop that its result does not determine");
  Element element =
      evaluate(generic.getBody()->getTerminator()->getOperand(result), body);
  keep(tensor, exprs, element);
  return element;
}

template <typename Scope>
typename Scope::Element
PointWalker<Scope>::reduceHere(mlir::linalg::GenericOp generic, unsigned result,
                               llvm::ArrayRef<mlir::AffineExpr> exprs) {
  Reduction reduction{generic, bindLoops(generic, result, exprs), {}};
  reduction.dims = openReducedLoops(generic, reduction.loops, dims);
  llvm::SmallVector<Element> elements = reduce(reduction);
  for (auto [value, element] : llvm::zip(generic->getResults(), elements))
    define(current, value, exprs, element);
  return elements[result];
}

template <typename Scope>
typename Scope::Element
PointWalker<Scope>::scanHere(mlir::linalg::GenericOp generic,
                             llvm::ArrayRef<mlir::AffineExpr> exprs) {
  Scan scan{generic, llvm::SmallVector<mlir::AffineExpr>(exprs),
            bindLoops(generic, 0, exprs), 0};
  for (auto [i, iterator] : llvm::enumerate(generic.getIteratorTypesArray()))
    if (iterator == mlir::utils::IteratorType::reduction)
      scan.axis = i;
  return runScan(scan);
}

template <typename Scope> unsigned PointWalker<Scope>::restart(Scan &scan) {
  mlir::AffineExpr loop = dims.make(getLoopSizes(scan.generic)[scan.axis]);
  scan.loops[scan.axis] = loop;
  return mlir::cast<mlir::AffineDimExpr>(loop).getPosition();
}

template <typename Scope>
void PointWalker<Scope>::evaluateStep(
    mlir::linalg::GenericOp generic, llvm::ArrayRef<mlir::AffineExpr> loops,
    llvm::ArrayRef<Element> accumulators,
    llvm::function_ref<void(size_t, Element)> yield) {
  Body body(generic, loops);
  mlir::Block *block = generic.getBody();
  unsigned inputs = generic.getNumDpsInputs();
  for (auto [i, accumulator] : llvm::enumerate(accumulators))
    body.known[block->getArgument(inputs + i)] = accumulator;
  for (auto [i, yielded] :
       llvm::enumerate(block->getTerminator()->getOperands()))
    yield(i, evaluate(yielded, body));
}

template <typename Scope>
std::optional<bool> PointWalker<Scope>::decide(mlir::Value condition,
                                               const Body &body) const {
  return decideCondition(condition, body.loops,
                         [this](unsigned dim) { return range(dim); });
}

template <typename Scope>
mlir::AffineExpr PointWalker<Scope>::indexOf(mlir::Value value, Body &body) {
  // Known only when the code runs: a dim of its own, bound here.
  return trackIndex(value, body.loops, [&](mlir::Value ofData) {
    Element number = evaluate(ofData, body);
    mlir::AffineExpr dim = dims.makeOpaque(ofData.getContext());
    current->bindings[mlir::cast<mlir::AffineDimExpr>(dim).getPosition()] =
        number;
    return dim;
  });
}

template <typename Scope>
typename Scope::Element PointWalker<Scope>::evaluateApart(mlir::Value value,
                                                          const Body &body) {
  Body copy = body;
  return evaluate(value, copy);
}

template <typename Scope>
typename Scope::Element PointWalker<Scope>::evaluate(mlir::Value value,
                                                     Body &body) {
  auto found = body.known.find(value);
  if (found != body.known.end())
    return found->second;
  Element element;
  mlir::Attribute number;
  if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(value)) {
    mlir::OpOperand &operand =
        body.generic->getOpOperand(argument.getArgNumber());
    llvm::SmallVector<mlir::AffineExpr> exprs;
    for (mlir::AffineExpr expr :
         body.generic.getMatchingIndexingMap(&operand).getResults())
      exprs.push_back(expr.replaceDims(body.loops));
    element = pull(operand.get(), exprs);
  } else if (mlir::matchPattern(value, mlir::m_Constant(&number))) {
    element = constant(mlir::cast<mlir::TypedAttr>(number));
  } else if (mlir::AffineExpr expr = trackIndex(value, body.loops)) {
    element = indexValue(expr, value.getType());
  } else if (value.getDefiningOp<mlir::affine::AffineApplyOp>()) {
    element = indexValue(indexOf(value, body), value.getType());
  } else {
    auto result = mlir::cast<mlir::OpResult>(value);
    element =
        evaluateOperation(result.getOwner(), result.getResultNumber(), body);
  }
  body.known[value] = element;
  return element;
}

template <typename Scope>
typename Scope::Element
PointWalker<Scope>::evaluateOperation(mlir::Operation *op, unsigned result,
                                      Body &body) {
  if (auto extract = mlir::dyn_cast<mlir::tensor::ExtractOp>(op)) {
    llvm::SmallVector<mlir::AffineExpr> exprs;
    for (mlir::Value index : extract.getIndices())
      exprs.push_back(indexOf(index, body));
    return pull(extract.getTensor(), exprs);
  }
  if (auto branch = mlir::dyn_cast<mlir::scf::IfOp>(op)) {
    mlir::Value onTrue = branch.thenYield().getOperand(result),
                onFalse = branch.elseYield().getOperand(result);
    if (std::optional<bool> decided = decide(branch.getCondition(), body))
      return evaluate(*decided ? onTrue : onFalse, body);
    return select(branch, onTrue, onFalse, body);
  }
  if (auto check = mlir::dyn_cast<mlir::ait::ReportOp>(op)) {
    Element value = evaluate(check.getValue(), body),
            failed = evaluate(check.getFailed(), body),
            shown = evaluate(check.getShown(), body);
    report(check, failed, shown);
    return value;
  }
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return fail(op->getResult(result).getType(),
                "a loop kernel cannot compute " +
                    op->getName().getStringRef().str());
  llvm::SmallVector<Element> operands;
  for (mlir::Value operand : op->getOperands())
    operands.push_back(evaluate(operand, body));
  return operation(op, operands);
}

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_LOOPS_POINTWALKERIMPL_H
