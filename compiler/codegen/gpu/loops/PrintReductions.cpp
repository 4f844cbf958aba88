// Reductions and scans of PointPrinter that one thread computes alone.
#include "compiler/codegen/gpu/loops/PointPrinter.h"
#include "compiler/codegen/gpu/text/CudaScalar.h"
#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace aitune {

std::string PointPrinter::combiner(linalg::GenericOp generic) {
  if (generic.getNumResults() != 1 || isScan(generic))
    return "";
  Block *block = generic.getBody();
  Operation *op = block->getTerminator()->getOperand(0).getDefiningOp();
  Value accumulator = block->getArgument(generic.getNumDpsInputs());
  if (!op || op->getNumOperands() != 2 ||
      llvm::count(op->getOperands(), accumulator) != 1 ||
      !accumulator.hasOneUse())
    return "";
  // Unsigned extrema of integers compare otherwise; bools have no sum.
  bool isBool = accumulator.getType().isInteger(1);
  return llvm::StringSwitch<std::string>(op->getName().stripDialect())
      .Cases({"addf", "addi"}, isBool ? "" : "Sum")
      .Cases({"mulf", "muli"}, isBool ? "" : "Product")
      .Cases({"maximumf", "maxsi"}, isBool ? "" : "Maximum")
      .Cases({"minimumf", "minsi"}, isBool ? "" : "Minimum")
      .Case("ori", "Or")
      .Case("andi", "And")
      .Default("");
}

std::string PointPrinter::neutral(linalg::GenericOp generic, unsigned result) {
  Attribute constant;
  auto fill = generic.getDpsInits()[result].getDefiningOp<linalg::FillOp>();
  if (!fill || !matchPattern(fill.getInputs()[0], m_Constant(&constant)))
    return fail("a reduction that does not start from a constant");
  return cudaConstant(constant);
}

void PointPrinter::reductionLoops(linalg::GenericOp generic,
                                  MutableArrayRef<AffineExpr> loops,
                                  llvm::function_ref<void()> body) {
  SmallVector<AffineExpr> sizes = getLoopSizes(generic);
  std::function<void(unsigned)> open = [&](unsigned i) {
    if (i == loops.size())
      return body();
    if (loops[i])
      return open(i + 1);
    if (sizes[i] == 1) {
      loops[i] = getAffineConstantExpr(0, generic.getContext());
      return open(i + 1);
    }
    loops[i] = dims.make(sizes[i]);
    unsigned dim = cast<AffineDimExpr>(loops[i]).getPosition();
    std::string variable = fresh("r");
    std::optional<int64_t> size = getConstant(sizes[i]);
    block(
        llvm::formatv("for (Index {0} = 0; {0} < {1}; ++{0})", variable,
                      index(sizes[i])),
        [&](PrintScope &scope) { scope.bindings[dim] = variable; },
        [&] { open(i + 1); }, /*unroll=*/size && *size <= 16);
  };
  open(0);
}

void PointPrinter::reduce(linalg::GenericOp generic, unsigned result,
                          ArrayRef<AffineExpr> exprs) {
  SmallVector<AffineExpr> loops = bindLoops(generic, result, exprs);
  unsigned count = generic.getNumResults();
  SmallVector<std::string> names, accumulators;
  PrintScope *home = current, *lane = nullptr;
  // Of each lane another result: loops outside, lanes inside, so that what the
  // lanes read is neighbours.
  if (current->laneDim)
    lane = current;
  if (lane)
    current = lane->parent;
  for (unsigned i = 0; i < count; ++i) {
    names.push_back(fresh("a"));
    std::string type =
        cudaType(cast<RankedTensorType>(generic->getResult(i).getType())
                     .getElementType());
    std::string start = neutral(generic, i);
    if (!lane) {
      line(type + " " + names[i] + " = " + start + ";");
      continue;
    }
    line(llvm::formatv("{0} {1}[{2}];", type, names[i], lane->lanes));
    current->text += "#pragma unroll\n";
    line(llvm::formatv("for (int j = 0; j < {0}; ++j)", lane->lanes));
    line("  " + names[i] + "[j] = " + start + ";");
  }
  reductionLoops(generic, loops, [&] {
    if (!lane)
      return step(generic, loops, names);
    lanes(*lane->laneDim, lane->lanes, lane->laneBase, [&] {
      SmallVector<std::string> elements;
      for (const std::string &name : names)
        elements.push_back(name + "[j]");
      step(generic, loops, elements);
    });
  });
  current = home;
  for (unsigned i = 0; i < count; ++i)
    define(home, generic->getResult(i), exprs,
           lane ? names[i] + "[j]" : names[i]);
}

std::string PointPrinter::scan(linalg::GenericOp generic,
                               ArrayRef<AffineExpr> exprs) {
  // Every element starts again from the first.
  SmallVector<AffineExpr> loops = bindLoops(generic, 0, exprs);
  unsigned axis = 0;
  SmallVector<AffineExpr> sizes = getLoopSizes(generic);
  for (auto [i, iterator] : llvm::enumerate(generic.getIteratorTypesArray()))
    if (iterator == utils::IteratorType::reduction)
      axis = i;
  AffineExpr last = loops[axis];
  loops[axis] = dims.make(sizes[axis]);
  unsigned dim = cast<AffineDimExpr>(loops[axis]).getPosition();
  auto typeOf = [&](unsigned i) {
    return cudaType(cast<RankedTensorType>(generic->getResult(i).getType())
                        .getElementType());
  };
  std::string value = fresh("a"), sum = fresh("a"), variable = fresh("r");
  line(typeOf(0) + " " + value + ";");
  line(typeOf(1) + " " + sum + " = " + neutral(generic, 1) + ";");
  block(
      llvm::formatv("for (Index {0} = 0; {0} <= {1}; ++{0})", variable,
                    index(last)),
      [&](PrintScope &scope) { scope.bindings[dim] = variable; },
      [&] { step(generic, loops, {value, sum}); });
  return value;
}

} // namespace aitune
