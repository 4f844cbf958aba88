#include "compiler/codegen/gpu/contraction/Contraction.h"

#include "absl/status/status.h"
#include "compiler/codegen/contraction/ContractionAnalysis.h"
#include "compiler/codegen/gpu/text/CudaScalar.h"
#include "compiler/codegen/linalg/KernelToLinalg.h"
#include "compiler/codegen/linalg/PointwiseToScalar.h"
#include "compiler/dialect/KernelAttributes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;

namespace aitune {
namespace {

func::ReturnOp returnOf(func::FuncOp function) {
  return cast<func::ReturnOp>(function.getBody().front().getTerminator());
}

void updateType(func::FuncOp function) {
  function.setType(FunctionType::get(
      function.getContext(), function.getBody().front().getArgumentTypes(),
      returnOf(function).getOperandTypes()));
}

/// Gives equal values one name, as PointPrinter expects.
void simplify(func::FuncOp function) {
  IRRewriter rewriter(function.getContext());
  DominanceInfo dominance(function);
  eliminateCommonSubExpressions(rewriter, dominance, function);
}

} // namespace

Value ContractionParts::operand(unsigned i) const {
  return returnOf(function).getOperand(i);
}

Value ContractionParts::output(unsigned i) const {
  return operand(operandCount + i);
}

unsigned ContractionParts::outputCount() const {
  return returnOf(function).getNumOperands() - operandCount;
}

absl::StatusOr<ContractionParts> takeApart(func::FuncOp kernel) {
  ContractionParts parts;
  parts.module = ModuleOp::create(kernel.getLoc());
  OpBuilder builder(parts.module->getBodyRegion());
  parts.function = cast<func::FuncOp>(builder.clone(*kernel));
  func::FuncOp function = parts.function;
  mlir::ait::setKernelKind(function, mlir::ait::KernelKind::Loop);
  std::string reason;
  FailureOr<ContractionAnalysis> analysis = getContraction(function, reason);
  if (failed(analysis))
    return absl::UnimplementedError(reason);
  parts.operands = analysis->operands;
  parts.reasons = analysis->reasons;
  Operation *contraction = analysis->op;
  parts.attributes = contraction->getAttrDictionary();
  parts.resultType =
      cast<RankedTensorType>(contraction->getResult(0).getType());
  parts.operandCount = contraction->getNumOperands();
  SmallVector<Value> results;
  for (Value operand : contraction->getOperands()) {
    parts.operandTypes.push_back(cast<RankedTensorType>(operand.getType()));
    results.push_back(operand);
  }
  Block &block = function.getBody().front();
  parts.result = block.addArgument(parts.resultType, contraction->getLoc());
  contraction->getResult(0).replaceAllUsesWith(parts.result);
  llvm::append_range(results, returnOf(function).getOperands());
  contraction->erase();
  returnOf(function)->setOperands(results);
  function.removeResAttrsAttr();
  function.removeArgAttrsAttr();
  updateType(function);

  ScopedDiagnosticHandler handler(kernel.getContext(),
                                  [&](Diagnostic &diagnostic) {
                                    if (reason.empty())
                                      reason = diagnostic.str();
                                    return success();
                                  });
  if (failed(KernelToLinalg(function).run()))
    return absl::UnimplementedError(
        reason.empty() ? "what surrounds the contraction has no loops"
                       : reason);
  simplify(function);
  for (BlockArgument argument : kernel.getArguments())
    mlir::ait::setKnownAt(
        function, argument.getArgNumber(),
        mlir::ait::getKnownAt(kernel, argument.getArgNumber()));
  return parts;
}

bool isThereBefore(BlockArgument argument) {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return mlir::ait::getKnownAt(function, argument.getArgNumber()) !=
         mlir::ait::KnownAt::Call;
}

Value loopIndex(OpBuilder &builder, Location location, AffineExpr expr) {
  return emitIndex(builder, location, expr,
                   [&](OpBuilder &atStart, unsigned symbol) -> Value {
                     return mlir::ait::SymbolOp::create(
                         atStart, location, atStart.getIndexType(),
                         atStart.getI64IntegerAttr(symbol));
                   });
}

Value readOperand(OpBuilder &builder, Location location, Value operand,
                  ArrayRef<AffineExpr> exprs, Type type, bool isUnsigned) {
  SmallVector<Value> indices;
  for (AffineExpr expr : exprs)
    indices.push_back(loopIndex(builder, location, expr));
  Value read = tensor::ExtractOp::create(builder, location, operand, indices);
  return emitConvert(builder, location, read, type, isUnsigned);
}

func::FuncOp
toLoops(ContractionParts &parts, ArrayRef<AffineExpr> reduced,
        llvm::function_ref<Value(OpBuilder &, Location)> makeTerm) {
  func::FuncOp function = parts.function;
  Block &block = function.getBody().front();
  // After the operands, before the result's first use.
  Operation *first = block.getTerminator();
  for (Operation *user : parts.result.getUsers()) {
    Operation *inBlock = block.findAncestorOpInBlock(*user);
    if (inBlock && inBlock->isBeforeInBlock(first))
      first = inBlock;
  }
  OpBuilder builder(first);
  Location location = function.getLoc();
  Type element = parts.resultType.getElementType();
  auto empty = [&](RankedTensorType type) -> Value {
    SmallVector<Value> dynamicSizes; // stays empty: types have the sizes
    for (size_t i = 0; i < static_cast<size_t>(type.getNumDynamicDims()); ++i)
      dynamicSizes.push_back(
          arith::ConstantIndexOp::create(builder, location, 0));
    return tensor::EmptyOp::create(builder, location, type, dynamicSizes);
  };
  Value start = linalg::FillOp::create(
                    builder, location,
                    ValueRange{emitConstant(builder, location, element, 0)},
                    ValueRange{empty(parts.resultType)})
                    .getResult(0);
  // Gives the reduced loops their sizes; never read.
  Value shape = empty(mlir::ait::getTensorType(reduced, element));
  unsigned rank = parts.resultType.getRank(),
           loops = rank + static_cast<unsigned>(reduced.size());
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  iterators.append(reduced.size(), utils::IteratorType::reduction);
  SmallVector<AffineExpr> resultExprs, reducedExprs;
  for (unsigned i = 0; i < loops; ++i)
    (i < rank ? resultExprs : reducedExprs)
        .push_back(builder.getAffineDimExpr(i));
  auto generic = linalg::GenericOp::create(
      builder, location, TypeRange{parts.resultType}, ValueRange{shape},
      ValueRange{start},
      ArrayRef<AffineMap>{
          AffineMap::get(loops, 0, reducedExprs, builder.getContext()),
          AffineMap::get(loops, 0, resultExprs, builder.getContext())},
      iterators, [&](OpBuilder &b, Location l, ValueRange arguments) {
        Value term = makeTerm(b, l);
        Value sum =
            isa<FloatType>(element)
                ? Value(arith::AddFOp::create(b, l, term, arguments[1]))
                : Value(arith::AddIOp::create(b, l, term, arguments[1]));
        linalg::YieldOp::create(b, l, sum);
      });
  parts.result.replaceAllUsesWith(generic.getResult(0));
  SmallVector<Value> results;
  for (unsigned i = 0; i < parts.outputCount(); ++i)
    results.push_back(parts.output(i));
  returnOf(function)->setOperands(results);
  block.eraseArgument(parts.result.getArgNumber());
  function.removeArgAttrsAttr();
  updateType(function);
  return function;
}

AffineExpr OperandView::coefficient(AffineExpr dim) const {
  auto position = dyn_cast<AffineDimExpr>(dim);
  return position ? address.coefficientOf(position.getPosition())
                  : getAffineConstantExpr(0, dim.getContext());
}

absl::StatusOr<OperandView> viewOperand(const ContractionParts &parts,
                                        unsigned number,
                                        ArrayRef<AffineExpr> exprs,
                                        DimTable &dims) {
  const std::optional<OperandAccess> &access = parts.operands[number];
  if (!access)
    return absl::UnimplementedError(parts.reasons[number]);
  if (access->storedType != parts.operandTypes[number].getElementType())
    return absl::UnimplementedError(
        "a contraction's operand that is converted in its kernel");
  auto ranges = [&](unsigned dim) { return dims.range(dim); };
  AffineExpr address = access->layout.offset;
  for (auto [axis, expr] : llvm::zip_equal(access->layout.axes, exprs)) {
    AffineExpr rest = expr;
    for (size_t i = axis.size(); i-- > 0;) {
      AffineExpr index = rest;
      if (i > 0) {
        Division division = divide(rest, axis[i].size, ranges);
        index = division.remainder;
        rest = division.quotient;
      }
      address = address + index * axis[i].stride;
    }
  }
  OperandView view;
  func::FuncOp function = parts.function;
  view.argument = function.getArgument(access->argument);
  view.elementType = access->storedType;
  view.address = decompose(address);
  view.isConstant = isThereBefore(view.argument);
  return view;
}

EpiloguePrinter::EpiloguePrinter(ContractionParts &parts, DimTable &dims,
                                 ArrayRef<AffineExpr> resultDims)
    : parts(parts), dims(dims), resultDims(resultDims), analysis(dims) {}

absl::Status EpiloguePrinter::tryIndex(unsigned number,
                                       ArrayRef<AffineExpr> exprs) {
  // A dry run: every read of the result must be of the element at hand.
  PrintScope root;
  PointPrinter printer(dims);
  printer.current = &root;
  setUp(printer);
  for (AffineExpr dim : resultDims)
    if (auto position = dyn_cast<AffineDimExpr>(dim))
      root.bindings[position.getPosition()] = "d";
  resultText = "value";
  printer.pull(parts.output(number), exprs);
  return printer.error.empty() ? absl::OkStatus()
                               : absl::UnimplementedError(printer.error);
}

absl::Status EpiloguePrinter::prepare() {
  auto ranges = [&](unsigned dim) { return dims.range(dim); };
  SmallVector<AffineExpr> resultSizes =
      mlir::ait::getSymbolicSizes(parts.resultType);
  for (unsigned i = 0; i < parts.outputCount(); ++i) {
    Value output = parts.output(i);
    SmallVector<AffineExpr> sizes = sizesOf(output);
    absl::Status status = absl::UnimplementedError(
        "an output whose elements are not those of the contraction");
    if (mlir::ait::getElementCount(cast<RankedTensorType>(output.getType())) !=
        mlir::ait::getElementCount(parts.resultType))
      return status;
    std::vector<SmallVector<AffineExpr>> tries;
    // The same order under the same or other sizes.
    if (sizes == resultSizes) {
      tries.emplace_back(resultDims);
    } else {
      AffineExpr flat = linearize(parts.resultType, resultDims);
      SmallVector<AffineExpr> exprs(sizes.size());
      for (size_t axis = sizes.size(); axis-- > 0;) {
        if (axis == 0) {
          exprs[0] = flat;
          break;
        }
        Division division = divide(flat, sizes[axis], ranges);
        exprs[axis] = division.remainder;
        flat = division.quotient;
      }
      tries.push_back(std::move(exprs));
    }
    // The order of one permutation.
    if (sizes.size() == resultSizes.size() && sizes.size() <= 5) {
      SmallVector<unsigned> order(sizes.size());
      for (unsigned axis = 0; axis < order.size(); ++axis)
        order[axis] = axis;
      while (std::next_permutation(order.begin(), order.end())) {
        SmallVector<AffineExpr> exprs;
        bool fits = true;
        for (unsigned axis = 0; axis < order.size(); ++axis) {
          fits &= sizes[axis] == resultSizes[order[axis]];
          exprs.push_back(resultDims[order[axis]]);
        }
        if (fits)
          tries.push_back(std::move(exprs));
      }
    }
    for (const SmallVector<AffineExpr> &exprs : tries) {
      status = tryIndex(i, exprs);
      if (!status.ok())
        continue;
      outputIndices.push_back(exprs);
      analysis.visit(output, exprs);
      auto type = cast<RankedTensorType>(output.getType());
      analysis.accesses.push_back(
          {decompose(linearize(type, exprs)), false,
           type.getElementType().getIntOrFloatBitWidth()});
      break;
    }
    if (!status.ok())
      return status;
  }
  return absl::OkStatus();
}

bool EpiloguePrinter::canMerge(AffineExpr outer, AffineExpr inner) const {
  return analysis.canMerge(cast<AffineDimExpr>(outer).getPosition(),
                           cast<AffineDimExpr>(inner).getPosition());
}

int64_t EpiloguePrinter::lanes(AffineExpr lastSize) const {
  int64_t widest = 1;
  for (unsigned i = 0; i < parts.outputCount(); ++i)
    widest = std::max(
        widest, cudaBytes(cast<RankedTensorType>(parts.output(i).getType())
                              .getElementType()));
  int64_t lanes = std::min<int64_t>(8, 16 / widest);
  while (lanes > 1 && !lastSize.isMultipleOf(lanes))
    lanes /= 2;
  return lanes;
}

void EpiloguePrinter::setUp(PointPrinter &printer) {
  for (BlockArgument argument : parts.function.getArguments())
    printer.arguments[argument] = {inputName(argument.getArgNumber()), nullptr};
  AffineExpr here = decompose(linearize(parts.resultType, resultDims)).toExpr();
  printer.arguments[parts.result] = {
      "",
      [this, here](ArrayRef<AffineExpr> exprs) -> std::optional<std::string> {
        if (decompose(linearize(parts.resultType, exprs)).toExpr() != here)
          return std::nullopt;
        return resultText;
      }};
}

void EpiloguePrinter::print(PointPrinter &printer, int64_t lanes,
                            const std::string &base, const std::string &value) {
  auto store = [&] {
    resultText = value + (lanes > 1 ? "[j]" : "[0]");
    for (unsigned i = 0; i < parts.outputCount(); ++i) {
      std::string text = printer.pull(parts.output(i), outputIndices[i]);
      printer.store(text, outputName(i),
                    cast<RankedTensorType>(parts.output(i).getType()),
                    outputIndices[i]);
    }
  };
  unsigned last = 0;
  bool hasLast = false;
  if (auto dim = dyn_cast<AffineDimExpr>(resultDims.back())) {
    last = dim.getPosition();
    hasLast = true;
  }
  if (hasLast)
    printer.lanes(last, lanes, base, store);
  else
    store();
}

SmallVector<KernelParameter>
EpiloguePrinter::parameters(ImplementationStep &step) const {
  SmallVector<KernelParameter> list;
  unsigned inputs = parts.result.getArgNumber();
  for (unsigned i = 0; i < inputs; ++i) {
    auto type = cast<RankedTensorType>(
        parts.function.getBody().front().getArgument(i).getType());
    list.push_back({inputName(i), type.getElementType(), false});
    step.inputs.push_back(static_cast<int>(i));
  }
  for (unsigned i = 0; i < parts.outputCount(); ++i) {
    auto type = cast<RankedTensorType>(parts.output(i).getType());
    list.push_back({outputName(i), type.getElementType(), true});
    step.outputs.push_back(static_cast<int>(inputs + i));
  }
  return list;
}

void bindAxes(PointPrinter &printer, ArrayRef<AffineExpr> axes,
              ArrayRef<AffineExpr> sizes, const std::string &flat,
              const char *prefix, const EpiloguePrinter *merging) {
  MLIRContext *context = sizes.empty() ? nullptr : sizes[0].getContext();
  if (!context)
    return;
  AffineExpr inside = getAffineConstantExpr(1, context);
  PrintScope &scope = *printer.current;
  size_t i = axes.size();
  while (i-- > 0) {
    // Axes that merge into this one are 0.
    AffineExpr size = sizes[i];
    size_t first = i;
    unsigned last = cast<AffineDimExpr>(axes[i]).getPosition();
    while (first > 0 && merging &&
           merging->canMerge(axes[first - 1], axes[first])) {
      --first;
      size = canonical(size * sizes[first]);
      scope.bindings[cast<AffineDimExpr>(axes[first]).getPosition()] = "0";
    }
    std::string value = flat;
    if (inside != 1)
      value += " / " + printer.divisor(inside);
    if (first > 0)
      value = (inside != 1 ? "(" + value + ")" : value) + " % " +
              printer.divisor(size);
    std::string name = flat;
    if (value != flat) {
      name = printer.fresh(prefix);
      printer.line("const Index " + name + " = " + value + ";");
    }
    scope.bindings[last] = name;
    if (first != i)
      scope.ranges[last] = DimRange{getAffineConstantExpr(0, context), size};
    inside = canonical(inside * size);
    i = first;
  }
}

} // namespace aitune
