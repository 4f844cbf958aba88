#include "compiler/candidates/CutKernel.h"

#include "compiler/dialect/KernelAttributes.h"
#include "compiler/fusion/KernelFunction.h"
#include "compiler/fusion/KernelGraph.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#include <tuple>

using namespace mlir;

namespace aitune {
namespace {

using Operations = llvm::SmallSetVector<Operation *, 16>;

/// `operations` and the recomputed ones that they read, in the body's order.
Operations withRecomputed(ArrayRef<Operation *> operations) {
  llvm::SmallPtrSet<Operation *, 16> wanted;
  auto visit = [&](auto &self, Operation *op) -> void {
    if (!wanted.insert(op).second)
      return;
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && isRecomputed(producer))
        self(self, producer);
  };
  for (Operation *op : operations)
    visit(visit, op);
  Operations sorted;
  for (Operation &op : *operations.front()->getBlock())
    if (wanted.contains(&op))
      sorted.insert(&op);
  return sorted;
}

/// A kernel's operations on both sides of a cut, recomputed ones on each side
/// that reads them.
struct Sides {
  Operations first, second;
  /// Values of the first side that the second reads.
  llvm::SmallSetVector<Value, 4> crossing;
};

FailureOr<Sides> divide(func::FuncOp kernel, int cut) {
  SmallVector<Operation *> before, after;
  int number = 0;
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (!isRecomputed(&op))
      (number < cut ? before : after).push_back(&op);
    ++number;
  }
  if (before.empty() || after.empty() ||
      llvm::any_of(after, ait::isContraction))
    return failure();
  Sides sides{withRecomputed(before), withRecomputed(after), {}};
  for (Operation *op : sides.second)
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && !sides.second.contains(producer))
        sides.crossing.insert(operand);
  return sides;
}

/// Writes one side as a function of `kernel`'s module.
CutKernel::Part writePart(func::FuncOp kernel, const Operations &operations,
                          ArrayRef<Value> results, ait::KernelKind kind,
                          const std::string &suffix,
                          const DenseMap<Value, int> &numbers) {
  CutKernel::Part part;
  llvm::SmallSetVector<Value, 8> inputs;
  for (Operation *op : operations)
    for (Value operand : op->getOperands())
      if (!operand.getDefiningOp() ||
          !operations.contains(operand.getDefiningOp()))
        inputs.insert(operand);
  OpBuilder builder(kernel);
  builder.setInsertionPointAfter(kernel);
  part.function = createKernelFunction(
      builder, kernel.getLoc(), (kernel.getSymName() + suffix).str(),
      builder.getFunctionType(ValueRange(inputs.getArrayRef()).getTypes(),
                              ValueRange(results).getTypes()),
      kind);
  Block *body = part.function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  IRMapping mapping;
  for (auto [input, argument] : llvm::zip_equal(inputs, body->getArguments())) {
    mapping.map(input, argument);
    part.inputs.push_back(numbers.lookup(input));
    auto outer = dyn_cast<BlockArgument>(input);
    auto attributes =
        outer ? kernel.getArgAttrDict(outer.getArgNumber()) : DictionaryAttr();
    if (attributes)
      for (NamedAttribute attribute : attributes)
        part.function.setArgAttr(argument.getArgNumber(), attribute.getName(),
                                 attribute.getValue());
  }
  for (Operation *op : operations)
    builder.clone(*op, mapping);
  SmallVector<Value> returned;
  for (Value result : results) {
    returned.push_back(mapping.lookup(result));
    part.outputs.push_back(numbers.lookup(result));
  }
  func::ReturnOp::create(builder, kernel.getLoc(), returned);
  return part;
}

} // namespace

std::vector<int> listCuts(func::FuncOp kernel) {
  struct Place {
    int cut;
    double bytes;
    int offCentre;
  };
  std::vector<Place> places;
  const int count =
      static_cast<int>(llvm::range_size(kernel.getBody().front())) - 1;
  int contraction = -1;
  for (auto [number, op] : llvm::enumerate(kernel.getBody().front()))
    if (ait::isContraction(&op))
      contraction = static_cast<int>(number);
  for (int cut = 1; cut < count; ++cut) {
    if (contraction >= 0 && cut != contraction + 1)
      continue;
    if (isRecomputed(&*std::next(kernel.getBody().front().begin(), cut)))
      continue;
    FailureOr<Sides> sides = divide(kernel, cut);
    if (failed(sides))
      continue;
    places.push_back({cut, 0, std::abs(2 * cut - count)});
    for (Value value : sides->crossing)
      places.back().bytes +=
          estimateBytes(cast<RankedTensorType>(value.getType()));
  }
  llvm::sort(places, [](const Place &lhs, const Place &rhs) {
    return std::tie(lhs.bytes, lhs.offCentre, lhs.cut) <
           std::tie(rhs.bytes, rhs.offCentre, rhs.cut);
  });
  std::vector<int> cuts;
  for (const Place &place : ArrayRef(places).take_front(2))
    cuts.push_back(place.cut);
  return cuts;
}

FailureOr<CutKernel> cutKernel(func::FuncOp kernel, int cut) {
  FailureOr<Sides> sides = divide(kernel, cut);
  if (failed(sides))
    return failure();
  const int arguments = kernel.getNumArguments();
  const int results = kernel.getNumResults();
  DenseMap<Value, int> numbers;
  for (BlockArgument argument : kernel.getArguments())
    numbers[argument] = argument.getArgNumber();
  SmallVector<Value> firstResults, secondResults;
  for (OpOperand &returned :
       kernel.getBody().front().getTerminator()->getOpOperands()) {
    Value value = returned.get();
    Operation *producer = value.getDefiningOp();
    // Rare, and nothing to gain: an argument or a fill as a result, or one
    // value as two.
    if (!producer || isRecomputed(producer) || numbers.contains(value))
      return failure();
    numbers[value] = arguments + static_cast<int>(returned.getOperandNumber());
    (sides->second.contains(producer) ? secondResults : firstResults)
        .push_back(value);
  }
  CutKernel parts;
  parts.cut = cut;
  for (Value value : sides->crossing) {
    if (numbers.contains(value))
      continue;
    numbers[value] =
        arguments + results + static_cast<int>(parts.temporaries.size());
    parts.temporaries.push_back(cast<RankedTensorType>(value.getType()));
    firstResults.push_back(value);
  }
  if (secondResults.empty())
    return failure();
  const ait::KernelKind kind = *ait::getKernelKind(kernel);
  const std::string suffix = "_cut" + std::to_string(cut);
  parts.second = writePart(kernel, sides->second, secondResults,
                           ait::KernelKind::Loop, suffix + "_rest", numbers);
  parts.first =
      writePart(kernel, sides->first, firstResults, kind, suffix, numbers);
  return parts;
}

} // namespace aitune
