#include "compiler/codegen/cpu/loops/RowBuffers.h"

#include "compiler/dialect/SizeBounds.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace aitune {
namespace {

/// Storing and loading costs two operations; it must spare clearly more.
constexpr double kLeastCost = 8;
/// Bytes of the stack for all rows of a kernel: a row of 64 thousand floats. It
/// and the operand's row then stay in a second-level cache of 512 KiB.
constexpr int64_t kMostBytes = 264 * 1024;

class Planner {
public:
  Planner(const LoopNest &nest, const CpuSchedule &schedule, int64_t maxLanes,
          ArrayAttr symbols)
      : nest(nest), schedule(schedule), maxLanes(maxLanes), symbols(symbols) {
    for (const UnitLoop &group : schedule.unitInner)
      if (group.isInner)
        innerDims.insert(group.dims.begin(), group.dims.end());
  }

  SmallVector<RowBufferPlan, 2> run() {
    SmallVector<RowBufferPlan, 2> plans;
    if (schedule.rowValues.empty() || innerDims.empty())
      return plans;
    int64_t bytes = 0;
    // Consumers before producers: if a value is kept, the values that it is
    // computed from are needed in one loop only.
    llvm::SetVector<Value> candidates;
    for (unsigned stage = 0; stage <= schedule.rowValues.size(); ++stage)
      reach(stage, [&](Value value) { candidates.insert(value); });
    SmallVector<Value> ordered(candidates.begin(), candidates.end());
    llvm::sort(ordered, [](Value a, Value b) {
      return b.getDefiningOp()->isBeforeInBlock(a.getDefiningOp());
    });
    for (Value candidate : ordered) {
      SmallVector<unsigned> stages;
      for (unsigned stage = 0; stage <= schedule.rowValues.size(); ++stage) {
        bool reached = false;
        reach(stage, [&](Value value) { reached |= value == candidate; });
        if (reached)
          stages.push_back(stage);
      }
      if (stages.size() < 2 || !coversRow(stages.front()))
        continue;
      llvm::SmallPtrSet<Operation *, 8> counted;
      if (getCostOf(candidate, counted) < kLeastCost)
        continue;
      RowBufferPlan plan{candidate, stages.front(), {}, 0};
      if (!layOut(plan) || bytes + plan.bytes > kMostBytes)
        continue;
      bytes += plan.bytes;
      chosen[candidate] = stages.front();
      plans.push_back(plan);
    }
    return plans;
  }

private:
  bool isInner(AffineExpr index) const {
    auto dim = dyn_cast<AffineDimExpr>(index);
    return dim && innerDims.contains(dim.getPosition());
  }

  /// Whether the value has the nest's domain.
  bool isFull(Value tensor) const { return sizesOf(tensor) == nest.sizes; }

  /// The generic of a stage that is a row value.
  linalg::GenericOp genericOf(unsigned stage) const {
    return schedule.rowValues[stage].first.getDefiningOp<linalg::GenericOp>();
  }

  /// Whether the stage's loop visits the whole row, at the row.
  bool coversRow(unsigned stage) {
    if (stage == schedule.rowValues.size())
      return false;
    linalg::GenericOp generic = genericOf(stage);
    SmallVector<AffineExpr> loops = bindLoops(
        generic,
        cast<OpResult>(schedule.rowValues[stage].first).getResultNumber(),
        schedule.rowValues[stage].second);
    if (loops.size() != nest.index.size())
      return false;
    for (auto [loop, index, iterator] :
         llvm::zip(loops, nest.index, generic.getIteratorTypesArray())) {
      bool reduced = iterator == utils::IteratorType::reduction;
      bool expected = isInner(index) ? reduced
                      : index == 0   ? (reduced || loop == 0)
                                     : loop == index;
      if (!expected)
        return false;
    }
    return true;
  }

  /// The values of the domain that a stage computes in its loop, found through
  /// operands read at the loop's own index.
  void reach(unsigned stage, llvm::function_ref<void(Value)> visit) {
    llvm::SetVector<Value> work;
    auto addInputs = [&](linalg::GenericOp generic) {
      for (OpOperand *operand : generic.getDpsInputOperands())
        if (generic.getMatchingIndexingMap(operand).isIdentity())
          work.insert(operand->get());
    };
    if (stage < schedule.rowValues.size()) {
      if (!coversRow(stage))
        return;
      addInputs(genericOf(stage));
    } else {
      for (const KernelOutput &output : nest.outputs)
        if (nest.isFull(output))
          work.insert(output.value);
    }
    for (size_t i = 0; i < work.size(); ++i) {
      auto generic = work[i].getDefiningOp<linalg::GenericOp>();
      if (!generic || hasReductionLoops(generic) || !isFull(work[i]))
        continue;
      visit(work[i]);
      auto buffered = chosen.find(work[i]);
      if (buffered == chosen.end() || buffered->second == stage)
        addInputs(generic);
    }
  }

  /// Whether an operand of a generic is the same for a whole row.
  bool isOfRow(linalg::GenericOp generic, OpOperand &operand) const {
    Value result = generic->getResult(0);
    return isFull(result) &&
           generic.getIndexingMapMatchingResult(cast<OpResult>(result))
               .isIdentity() &&
           llvm::none_of(llvm::enumerate(nest.index), [&](const auto &indexed) {
             return isInner(indexed.value()) &&
                    generic.getMatchingIndexingMap(&operand).isFunctionOfDim(
                        indexed.index());
           });
  }

  /// The operations of an element, without what is computed once a row.
  double getCostOf(Value tensor,
                   llvm::SmallPtrSetImpl<Operation *> &counted) const {
    Operation *op = tensor.getDefiningOp();
    if (!op)
      return 1;
    if (!counted.insert(op).second)
      return 0;
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (generic && hasReductionLoops(generic))
      return 0; // once a row
    double cost = 0;
    if (generic)
      generic.getBody()->walk(
          [&](Operation *inner) { cost += getCost(inner); });
    if (generic) {
      for (OpOperand *input : generic.getDpsInputOperands())
        if (!isOfRow(generic, *input))
          cost += getCostOf(input->get(), counted);
      return cost;
    }
    for (Value input : op->getOperands())
      if (isa<RankedTensorType>(input.getType()))
        cost += getCostOf(input, counted);
    return cost;
  }

  bool layOut(RowBufferPlan &plan) {
    MLIRContext *context = plan.tensor.getContext();
    AffineExpr stride =
        getAffineConstantExpr(schedule.isColumn ? schedule.lanes : 1, context);
    plan.strides.assign(nest.index.size(), getAffineConstantExpr(0, context));
    for (size_t axis = nest.index.size(); axis-- > 0;) {
      if (!isInner(nest.index[axis]))
        continue;
      plan.strides[axis] = stride;
      stride = canonical(stride * nest.sizes[axis]);
    }
    std::optional<mlir::ait::SizeBounds> bounds =
        mlir::ait::getSizeBounds(stride, symbols);
    int64_t bits =
        std::max(8u, getElementTypeOrSelf(plan.tensor).getIntOrFloatBitWidth());
    // The bytes of a bound that is too great have no number.
    if (!bounds || bounds->high > kMostBytes * 8 / bits)
      return false;
    // The last vector may reach beyond the row.
    plan.bytes = (bounds->high + maxLanes) * bits / 8;
    return true;
  }

  const LoopNest &nest;
  const CpuSchedule &schedule;
  int64_t maxLanes;
  ArrayAttr symbols;
  llvm::DenseSet<unsigned> innerDims;
  llvm::DenseMap<Value, unsigned> chosen;
};

} // namespace

SmallVector<RowBufferPlan, 2> planRowBuffers(const LoopNest &nest,
                                             const CpuSchedule &schedule,
                                             int64_t maxLanes,
                                             ArrayAttr symbols) {
  return Planner(nest, schedule, maxLanes, symbols).run();
}

} // namespace aitune
