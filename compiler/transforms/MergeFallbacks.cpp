// Neighbouring fallbacks as one region.
#include "compiler/transforms/Passes.h"

#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace aitune {
#define GEN_PASS_DEF_MERGEFALLBACKS
#include "compiler/transforms/Passes.h.inc"
} // namespace aitune

using namespace mlir;
using namespace mlir::ait;

namespace {
/// Whether both know their values' numbers in the trace, and each value that
/// `second` reads of `first` has one number: otherwise the region would look
/// for a value that it doesn't have.
bool canMerge(FallbackOp first, FallbackOp second) {
  for (FallbackOp op : {first, second})
    if (op.getInputValues().size() != op.getInputs().size() ||
        op.getOutputValues().size() != op.getNumResults())
      return false;
  for (auto [input, number] :
       llvm::zip_equal(second.getInputs(), second.getInputValues()))
    if (input.getDefiningOp() == first &&
        first.getOutputValues()[cast<OpResult>(input).getResultNumber()] !=
            number)
      return false;
  return true;
}

/// One fallback that runs `first` and then `second`, in place of both.
FallbackOp merge(FallbackOp first, FallbackOp second) {
  OpBuilder builder(second);
  // One value may have several numbers in the trace; the region knows them all.
  llvm::SetVector<std::pair<Value, int64_t>> inputs;
  for (FallbackOp op : {first, second})
    for (auto [input, number] :
         llvm::zip_equal(op.getInputs(), op.getInputValues()))
      if (input.getDefiningOp() != first)
        inputs.insert({input, number});
  SmallVector<Value> results;
  SmallVector<int64_t> resultNumbers;
  for (FallbackOp op : {first, second})
    for (auto [result, number] :
         llvm::zip_equal(op.getResults(), op.getOutputValues()))
      if (op == second || llvm::any_of(result.getUsers(), [&](Operation *user) {
            return user != second;
          })) {
        results.push_back(result);
        resultNumbers.push_back(number);
      }

  // A call that makes an operand of both runs once.
  SmallVector<int64_t> positions(first.getTraceOps());
  SmallVector<Attribute> operators(first.getOperators().getValue());
  SmallVector<Attribute> reasons(first.getReasons().getValue());
  for (auto [position, name, reason] : llvm::zip_equal(
           second.getTraceOps(), second.getOperators(), second.getReasons())) {
    if (llvm::is_contained(first.getTraceOps(), position))
      continue;
    positions.push_back(position);
    operators.push_back(name);
    reasons.push_back(reason);
  }
  auto merged = FallbackOp::create(
      builder, builder.getFusedLoc({first.getLoc(), second.getLoc()}),
      ValueRange(results).getTypes(),
      llvm::map_to_vector(inputs, [](auto &input) { return input.first; }),
      positions, builder.getArrayAttr(operators), builder.getArrayAttr(reasons),
      llvm::map_to_vector(inputs, [](auto &input) { return input.second; }),
      resultNumbers);
  for (auto [result, replacement] :
       llvm::zip_equal(results, merged.getResults()))
    result.replaceAllUsesWith(replacement);
  second.erase();
  first.erase();
  return merged;
}

class MergeFallbacksPass
    : public aitune::impl::MergeFallbacksBase<MergeFallbacksPass> {
public:
  void runOnOperation() override {
    if (getOperation().isDeclaration())
      return;
    FallbackOp previous;
    for (Operation &op :
         llvm::make_early_inc_range(getOperation().getBody().front())) {
      if (auto fallback = dyn_cast<FallbackOp>(op))
        previous = previous && canMerge(previous, fallback)
                       ? merge(previous, fallback)
                       : fallback;
      else if (!isa<ConstantOp, FullOp>(op))
        previous = nullptr;
    }
  }
};
} // namespace
