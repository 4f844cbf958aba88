// Which loops become one.
#include "compiler/fusion/Grouping.h"

#include "compiler/dialect/Ait.h"
#include "compiler/fusion/LoopLegality.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::ait;

namespace aitune {
namespace {

class LoopGrouping {
public:
  LoopGrouping(KernelGraph &graph, const RejectFunction &reject)
      : graph(graph), reject(reject) {}

  /// Each consumer takes its producers, nearest first; a second round lets
  /// groups that only became compatible by then merge.
  void run() {
    for (KernelGraph::GroupId consumer : graph.getGroups())
      takeWidening(consumer);
    for (bool changed = true; changed;) {
      changed = false;
      for (KernelGraph::GroupId consumer : graph.getGroups())
        while (mergeOneProducer(consumer, nullptr))
          changed = true;
    }
    for (KernelGraph::GroupId consumer : graph.getGroups())
      mergeOneProducer(consumer, &reject);
    for (KernelGraph::GroupId consumer : graph.getGroups())
      repeatWidenings(consumer);
  }

private:
  /// Merges a conversion to a wider type into the reduction that alone reads
  /// it, before what makes its operand could take it: if those two can't be one
  /// kernel, the narrower numbers are in memory between them.
  void takeWidening(KernelGraph::GroupId consumer) {
    Operation *reduction = graph[consumer].operations.front();
    if (!isReduction(reduction))
      return;
    auto convert = reduction->getOperand(0).getDefiningOp<ConvertOp>();
    if (!convert || !convert->hasOneUse() || !isWidening(convert))
      return;
    const std::optional<KernelGraph::GroupId> producer =
        graph.getGroup(convert);
    if (producer && reasonAgainst(*producer, consumer).empty())
      graph.merge(consumer, *producer);
  }

  static bool isWidening(ConvertOp convert) {
    return getElementTypeOrSelf(convert.getType()).getIntOrFloatBitWidth() >
           getElementTypeOrSelf(convert.getInput().getType())
               .getIntOrFloatBitWidth();
  }

  /// Merges the nearest possible producer into `consumer`. With `report`, only
  /// tells why the neighbours stay apart.
  bool mergeOneProducer(KernelGraph::GroupId consumer,
                        const RejectFunction *report) {
    if (graph[consumer].kind != KernelKind::Loop)
      return false;
    for (KernelGraph::GroupId producer : findProducers(consumer)) {
      std::string reason = reasonAgainst(producer, consumer);
      if (!reason.empty()) {
        if (report)
          (*report)(graph[consumer].operations.front(), reason);
      } else if (!report) {
        graph.merge(consumer, producer);
        return true;
      }
    }
    return false;
  }

  /// Reads what another loop widens, from memory, as it was before: widening it
  /// again takes less than writing and reading the wider numbers.
  void repeatWidenings(KernelGraph::GroupId consumer) {
    if (graph[consumer].kind != KernelKind::Loop)
      return;
    llvm::SmallSetVector<Operation *, 4> widenings;
    for (Operation *op : graph[consumer].operations)
      for (Value operand : op->getOperands())
        if (Operation *producer = operand.getDefiningOp();
            producer && isWideningOfMemory(producer) &&
            graph.getGroup(producer) != consumer)
          widenings.insert(producer);
    for (Operation *widening : widenings) {
      SmallVector<Operation *> operations{widening};
      llvm::append_range(operations, graph[consumer].operations);
      llvm::sort(operations, [&](Operation *lhs, Operation *rhs) {
        return graph.getPosition(lhs) < graph.getPosition(rhs);
      });
      std::string reason;
      auto escapes = [&](Value value) {
        return value.getDefiningOp() != widening &&
               graph.escapes(value, consumer);
      };
      if (!findLoopDomain(operations, escapes, reason))
        continue;
      OpBuilder builder(widening);
      Operation *repeated = builder.clone(*widening);
      graph.add(repeated, consumer, widening);
      widening->replaceUsesWithIf(repeated, [&](OpOperand &use) {
        return graph.getGroup(use.getOwner()) == consumer;
      });
    }
  }

  /// Whether `op` widens, for other operations of its loop, what lies in memory
  /// or can, at half the size of the result.
  bool isWideningOfMemory(Operation *op) const {
    auto convert = dyn_cast<ConvertOp>(op);
    const std::optional<KernelGraph::GroupId> group = graph.getGroup(op);
    if (!convert || !group || graph[*group].kind != KernelKind::Loop ||
        !isWidening(convert) || graph.isConstantOnly(op))
      return false;
    Operation *source = convert.getInput().getDefiningOp();
    if (source && isRecomputed(source))
      return false;
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      return graph.getGroup(user) == group;
    });
  }

  SmallVector<KernelGraph::GroupId>
  findProducers(KernelGraph::GroupId consumer) const {
    llvm::SmallSetVector<KernelGraph::GroupId, 8> producers;
    auto visit = [&](auto &self, Operation *op) -> void {
      for (Value operand : op->getOperands()) {
        Operation *producer = operand.getDefiningOp();
        if (!producer)
          continue;
        if (std::optional<KernelGraph::GroupId> group =
                graph.getGroup(producer)) {
          if (*group != consumer)
            producers.insert(*group);
        } else if (isRecomputed(producer)) {
          self(self, producer);
        }
      }
    };
    for (Operation *op : graph[consumer].operations)
      visit(visit, op);
    SmallVector<KernelGraph::GroupId> sorted = producers.takeVector();
    llvm::sort(sorted, [&](auto lhs, auto rhs) {
      return graph.getPosition(graph[lhs].operations.back()) >
             graph.getPosition(graph[rhs].operations.back());
    });
    return sorted;
  }

  /// Empty if the two can be one kernel.
  std::string reasonAgainst(KernelGraph::GroupId producer,
                            KernelGraph::GroupId consumer) const {
    const KernelGraph::Group &first = graph[producer];
    const KernelGraph::Group &second = graph[consumer];
    if (first.kind != KernelKind::Loop)
      return ("follows a " + stringifyKernelKind(first.kind) +
              " kernel that could not take it as an epilogue")
          .str();
    if (graph.isConstantOnly(first.operations.front()) !=
        graph.isConstantOnly(second.operations.front()))
      return "its producer depends on constants only and is computed once, "
             "when the model is loaded";
    SmallVector<Operation *> merged(first.operations);
    llvm::append_range(merged, second.operations);
    llvm::sort(merged, [&](Operation *lhs, Operation *rhs) {
      return graph.getPosition(lhs) < graph.getPosition(rhs);
    });
    std::string reason;
    auto escapes = [&](Value value) {
      return escapesBoth(value, producer, consumer);
    };
    if (!findLoopDomain(merged, escapes, reason))
      return "not fused with its producer " +
             first.operations.back()->getName().getStringRef().str() + ": " +
             reason;
    if (graph.hasPathAround(producer, consumer))
      return "fusing it with its producer would make a cycle through another "
             "kernel";
    return "";
  }

  bool escapesBoth(Value value, KernelGraph::GroupId lhs,
                   KernelGraph::GroupId rhs) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      if (std::optional<KernelGraph::GroupId> group = graph.getGroup(user))
        return *group != lhs && *group != rhs;
      return !isRecomputed(user) || escapesBoth(user->getResult(0), lhs, rhs);
    });
  }

  KernelGraph &graph;
  const RejectFunction &reject;
};
} // namespace

void groupLoops(KernelGraph &graph, const RejectFunction &reject) {
  LoopGrouping(graph, reject).run();
}

} // namespace aitune
