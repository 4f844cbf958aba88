// Groups of operations as ait.kernel regions.
#include "compiler/fusion/FormKernels.h"

#include "compiler/dialect/Ait.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/dialect/SlicedMemory.h"
#include "compiler/fusion/Grouping.h"
#include "compiler/fusion/Passes.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace aitune {
#define GEN_PASS_DEF_FORMKERNELS
#include "compiler/fusion/Passes.h.inc"
} // namespace aitune

using namespace mlir;
using namespace mlir::ait;

namespace aitune {
namespace {

/// Writes one group as a kernel.
class KernelRegionWriter {
public:
  KernelRegionWriter(const KernelGraph &graph, ArrayRef<Operation *> operations,
                     KernelKind kind)
      : graph(graph), operations(operations), kind(kind),
        members(operations.begin(), operations.end()) {}

  /// Replaces the operations by a kernel at the place of the last one.
  void build() {
    for (Operation *op : operations)
      findInputs(op);
    SmallVector<Value> results;
    for (Operation *op : operations)
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(),
                         [&](Operation *user) {
                           return !members.contains(user) &&
                                  !recomputed.contains(user);
                         }) ||
            hasOutsideReader(result))
          results.push_back(result);

    Operation *last = operations.back();
    SmallVector<Location> locations = llvm::map_to_vector(
        operations, [](Operation *op) { return op->getLoc(); });
    OpBuilder builder(last);
    auto kernel = KernelOp::create(builder, builder.getFusedLoc(locations),
                                   ValueRange(results).getTypes(),
                                   inputs.getArrayRef(), kind);
    Block *body = builder.createBlock(&kernel.getBody());
    IRMapping mapping;
    for (Value input : inputs)
      mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
    for (Operation *op : operations)
      clone(builder, op, mapping);
    SmallVector<Value> yielded = llvm::map_to_vector(
        results, [&](Value value) { return mapping.lookup(value); });
    YieldOp::create(builder, kernel.getLoc(), yielded);
    for (auto [old, replacement] : llvm::zip(results, kernel.getResults()))
      old.replaceUsesWithIf(replacement, [&](OpOperand &use) {
        return !members.contains(use.getOwner());
      });
  }

private:
  void findInputs(Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *producer = operand.get().getDefiningOp();
      if (producer && members.contains(producer))
        continue;
      if (producer && isCloned(operand, producer)) {
        if (recomputed.insert(producer))
          findInputs(producer);
      } else {
        inputs.insert(operand.get());
      }
    }
  }

  /// Contractions read most operands many times, and packed, so these come from
  /// memory; an element at a time they read what can be addressed there.
  bool isCloned(OpOperand &operand, Operation *producer) const {
    Operation *reader = operand.getOwner();
    if (graph.isReadInPlace(producer))
      return true;
    if (!isRecomputed(producer) || graph.isReadInPlace(reader))
      return false;
    auto contraction = dyn_cast<Contraction>(reader);
    return !contraction ||
           (contraction.getOperandRead(operand) == OperandRead::Elementwise &&
            !isComputed(producer));
  }

  /// Whether the elements of what `op` gives are in no memory.
  static bool isComputed(Operation *op) {
    while (auto expand = dyn_cast_or_null<ExpandOp>(op))
      op = expand.getInput().getDefiningOp();
    return isa_and_nonnull<FullOp, IotaOp>(op);
  }

  /// Whether a recomputed reader of `value` is also read by others.
  bool hasOutsideReader(Value value) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      if (!recomputed.contains(user))
        return false;
      return llvm::any_of(user->getUsers(),
                          [&](Operation *reader) {
                            return !members.contains(reader) &&
                                   !recomputed.contains(reader);
                          }) ||
             hasOutsideReader(user->getResult(0));
    });
  }

  void clone(OpBuilder &builder, Operation *op, IRMapping &mapping) {
    for (Value operand : op->getOperands())
      if (!mapping.contains(operand))
        clone(builder, operand.getDefiningOp(), mapping);
    builder.clone(*op, mapping);
  }

  const KernelGraph &graph;
  ArrayRef<Operation *> operations;
  KernelKind kind;
  llvm::SmallPtrSet<Operation *, 16> members;
  llvm::SmallSetVector<Operation *, 8> recomputed;
  llvm::SmallSetVector<Value, 8> inputs;
};

/// Whether kernels alone read `value` or a reshape of it. A result of the model
/// is written to the caller's memory by what computes it, and what LibTorch
/// reads it may keep.
bool isReadByKernels(Value value) {
  return llvm::none_of(value.getUsers(), [](Operation *user) {
    return user->hasTrait<OpTrait::IsTerminator>() || isa<FallbackOp>(user) ||
           (isa<ReshapeOp>(user) && !isReadByKernels(user->getResult(0)));
  });
}

/// Whether a group is one slice that kernels read where it is: of what a kernel
/// computes at each call, or of an input, which only LibTorch writes.
bool isReadWhereItIs(const KernelGraph &graph, KernelGraph::GroupId id,
                     bool hasFallbacks) {
  if (graph[id].operations.size() != 1)
    return false;
  auto slice = dyn_cast<SliceOp>(graph[id].operations.front());
  if (!slice || graph.isConstantOnly(slice) || !findOffsetInMemory(slice) ||
      !isReadByKernels(slice))
    return false;
  Value source = slice.getInput();
  while (auto reshape = source.getDefiningOp<ReshapeOp>())
    source = reshape.getInput();
  if (isa<BlockArgument>(source))
    return !hasFallbacks;
  return graph.getGroup(source.getDefiningOp()).has_value();
}

/// Makes kernels of recomputed values that must be in memory, because an
/// operation outside of all kernels or a contraction reads them. Erases the
/// other operations that kernels have cloned.
void buildRemaining(const KernelGraph &graph, Block &block) {
  SmallVector<Operation *> remaining;
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (op.use_empty() && isMemoryEffectFree(&op) &&
        !op.hasTrait<OpTrait::IsTerminator>())
      op.erase();
    else if (isRecomputed(&op))
      remaining.push_back(&op);
  }
  for (Operation *op : remaining) {
    if (!op->use_empty())
      KernelRegionWriter(graph, op, KernelKind::Loop).build();
    op->erase();
  }
}

/// Gives each of several slices of a flip a flip of its own, so that it reads
/// what is flipped and none need write all of it.
void separateFlips(Block &block) {
  SmallVector<FlipOp> shared;
  for (auto flip : block.getOps<FlipOp>())
    if (!flip->use_empty() && !flip->hasOneUse() &&
        llvm::all_of(flip->getUsers(), llvm::IsaPred<SliceOp>))
      shared.push_back(flip);
  for (FlipOp flip : shared) {
    OpBuilder builder(flip);
    for (OpOperand &use :
         llvm::make_early_inc_range(llvm::drop_begin(flip->getUses())))
      use.set(builder.clone(*flip)->getResult(0));
  }
}

struct FormKernels : impl::FormKernelsBase<FormKernels> {
  using FormKernelsBase::FormKernelsBase;
  FormKernels() = default;
  explicit FormKernels(RejectFunction reject) : reject(std::move(reject)) {}

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    // Outlined kernels are functions too.
    if (function.isExternal() || isKernel(function))
      return;
    Block &block = function.getBody().front();
    separateFlips(block);
    auto report = [&](Operation *op, StringRef reason) {
      if (reject)
        reject(op, reason);
      if (explain)
        op->emitRemark() << reason;
    };
    KernelGraph graph(block);
    groupEpilogues(graph, report);
    groupLoops(graph, report);

    SmallVector<Operation *> replaced;
    SmallVector<KernelGraph::GroupId> kernels = graph.getGroups();
    const bool hasFallbacks = !block.getOps<FallbackOp>().empty();
    llvm::erase_if(kernels, [&](KernelGraph::GroupId id) {
      return isReadWhereItIs(graph, id, hasFallbacks);
    });
    for (KernelGraph::GroupId id : kernels) {
      KernelRegionWriter(graph, graph[id].operations, graph[id].kind).build();
      llvm::append_range(replaced, graph[id].operations);
    }
    for (Operation *op : replaced)
      op->dropAllUses();
    for (Operation *op : replaced)
      op->erase();
    buildRemaining(graph, block);
    sortTopologically(&block);
  }

private:
  RejectFunction reject;
};
} // namespace

std::unique_ptr<Pass> createFormKernels(RejectFunction reject) {
  return std::make_unique<FormKernels>(std::move(reject));
}

} // namespace aitune
