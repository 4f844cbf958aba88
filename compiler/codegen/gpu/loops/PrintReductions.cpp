// Reductions and scans of PointPrinter that one thread computes alone.
#include "compiler/codegen/gpu/loops/PointPrinter.h"
#include "compiler/codegen/gpu/text/CudaScalar.h"
#include "mlir/IR/TypeUtilities.h"
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
  TypedAttr value = getNeutral(generic, result);
  return value ? cudaConstant(value)
               : fail("a reduction that does not start from a constant");
}

void PointPrinter::reductionLoops(ArrayRef<unsigned> reduced,
                                  llvm::function_ref<void()> body) {
  if (reduced.empty())
    return body();
  unsigned dim = reduced.front();
  std::string variable = fresh("r");
  std::optional<int64_t> size = getConstant(dims.size(dim));
  block(
      llvm::formatv("for (Index {0} = 0; {0} < {1}; ++{0})", variable,
                    index(dims.size(dim))),
      [&](PrintScope &scope) { scope.bindings[dim] = variable; },
      [&] { reductionLoops(reduced.drop_front(), body); },
      /*unroll=*/size && *size <= 16);
}

SmallVector<std::string> PointPrinter::reduce(Reduction &reduction) {
  linalg::GenericOp generic = reduction.generic;
  // If each lane has a result of its own, the reduction's loops are outside and
  // the loop over lanes is inside, so that the lanes read neighbours.
  PrintScope *lane = current->laneDim ? current : nullptr;
  SmallVector<std::string> results;
  runIn(lane ? lane->parent : current, [&] {
    for (auto [i, result] : llvm::enumerate(generic->getResults())) {
      std::string name = fresh("a"), start = neutral(generic, i),
                  type = cudaType(getElementTypeOrSelf(result));
      results.push_back(lane ? name + "[j]" : name);
      if (!lane) {
        line(type + " " + name + " = " + start + ";");
        continue;
      }
      line(llvm::formatv("{0} {1}[{2}];", type, name, lane->lanes));
      current->text += "#pragma unroll\n";
      line(llvm::formatv("for (int j = 0; j < {0}; ++j)", lane->lanes));
      line("  " + name + "[j] = " + start + ";");
    }
    reductionLoops(reduction.dims, [&] {
      auto addUp = [&] { step(generic, reduction.loops, results); };
      if (lane)
        lanes(*lane->laneDim, lane->lanes, lane->laneBase, addUp);
      else
        addUp();
    });
  });
  return results;
}

std::string PointPrinter::runScan(Scan &scan) {
  // Every element starts again from the first.
  AffineExpr last = scan.loops[scan.axis];
  unsigned dim = restart(scan);
  auto typeOf = [&](unsigned i) {
    return cudaType(getElementTypeOrSelf(scan.generic->getResult(i)));
  };
  std::string value = fresh("a"), sum = fresh("a"), variable = fresh("r");
  line(typeOf(0) + " " + value + ";");
  line(typeOf(1) + " " + sum + " = " + neutral(scan.generic, 1) + ";");
  block(
      llvm::formatv("for (Index {0} = 0; {0} <= {1}; ++{0})", variable,
                    index(last)),
      [&](PrintScope &scope) { scope.bindings[dim] = variable; },
      [&] { step(scan.generic, scan.loops, {value, sum}); });
  return value;
}

} // namespace aitune
