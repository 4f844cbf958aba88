#include "compiler/transforms/LayoutNeighbours.h"

#include "compiler/dialect/Ait.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::ait;

namespace aitune {
namespace {

/// Whether data of `op` is not in the order of its operands' and results' axes,
/// or is no tensor of activations: the layout beyond it is another matter.
bool endsLayout(Operation *op) {
  return isa<ConstantOp, FullOp, IotaOp, SymbolOp, FallbackOp>(op) ||
         isa<Contraction>(op) || op->hasTrait<OpTrait::IsTerminator>();
}

} // namespace

bool choosesLayout(Operation *op) {
  return isa<ConvolutionOp, MaxPool2dOp, AvgPool2dOp, UpsampleNearest2dOp,
             UpsampleBilinear2dOp>(op);
}

bool standsAlone(Operation *start,
                 llvm::function_ref<bool(Operation *)> agrees) {
  SmallVector<Operation *> open{start};
  llvm::SmallPtrSet<Operation *, 32> seen{start};
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    if (choosesLayout(op) ? !agrees(op) : isa<PermuteOp>(op))
      return false;
    auto convolution = dyn_cast<ConvolutionOp>(op);
    if (!convolution && endsLayout(op))
      continue;
    const auto visit = [&](Operation *next) {
      if (next && seen.insert(next).second)
        open.push_back(next);
    };
    for (Value operand : op->getOperands())
      if (!convolution || operand == convolution.getInput())
        visit(operand.getDefiningOp());
    for (Operation *user : op->getUsers())
      visit(user);
  }
  return true;
}

} // namespace aitune
