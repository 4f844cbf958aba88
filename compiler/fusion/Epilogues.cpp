// Groups the operations that a contraction's kernel computes beside the
// contraction.
#include "compiler/fusion/Grouping.h"

#include "compiler/dialect/Ait.h"
#include "compiler/dialect/ReshapedSizes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::ait;

namespace aitune {
namespace {

/// How far to look for the end of a chain that forks and joins again, such as
/// x * sigmoid(x) written out, or a GELU of halves with a rounding after each
/// operation.
constexpr unsigned maxUnjoined = 24;

class EpilogueBuilder {
public:
  EpilogueBuilder(KernelGraph &graph, Operation *root,
                  const RejectFunction &reject)
      : graph(graph), root(root), reject(reject), id(*graph.getGroup(root)),
        sizes(getSymbolicSizes(
            cast<RankedTensorType>(root->getResult(0).getType()))) {
    members.insert(root);
  }

  /// Grows the chain operation by operation, keeping the longest prefix that
  /// writes one tensor: only then does the kernel write no more than the
  /// contraction alone.
  void run() {
    SmallVector<Operation *> pending;
    while (Operation *next = findNext()) {
      if (std::string reason = reasonAgainst(next); !reason.empty()) {
        refused.insert(next);
        // That contractions and outputs end a kernel is no news.
        if (isContraction(next) || !isFusable(next))
          continue;
        reject(next, reason);
        continue;
      }
      members.insert(next);
      pending.push_back(next);
      if (countEscaping() == 1 && !isWidening(next)) {
        for (Operation *op : pending)
          graph.merge(id, *graph.getGroup(op));
        pending.clear();
      } else if (pending.size() > maxUnjoined) {
        break;
      }
    }
    if (!pending.empty())
      reject(pending.front(), (root->getName().getStringRef() +
                               "'s kernel would have to write a second tensor")
                                  .str());
  }

private:
  /// The first user of the chain's values in block order that was not looked
  /// at. A reshape on the way is moved below its pointwise user.
  Operation *findNext() {
    for (;;) {
      Operation *next = nullptr;
      for (Operation *member : members)
        for (Operation *user : member->getUsers())
          if (!members.contains(user) && !refused.contains(user) &&
              (!next || graph.getPosition(user) < graph.getPosition(next)))
            next = user;
      auto reshape = dyn_cast_or_null<ReshapeOp>(next);
      if (!reshape)
        return next;
      if (!sinkReshape(reshape))
        refused.insert(reshape);
    }
  }

  static bool isWidening(Operation *op) {
    auto width = [](Value value) {
      return cast<RankedTensorType>(value.getType()).getElementTypeBitWidth();
    };
    return isa<ConvertOp>(op) &&
           width(op->getResult(0)) > width(op->getOperand(0));
  }

  unsigned countEscaping() const {
    unsigned count = 0;
    for (Operation *member : members)
      count += llvm::any_of(member->getUsers(), [&](Operation *user) {
        return !members.contains(user);
      });
    return count;
  }

  std::string reasonAgainst(Operation *op) const {
    if (!isPointwise(op))
      return ("not pointwise: cannot follow " + root->getName().getStringRef() +
              " in its kernel")
          .str();
    std::optional<KernelGraph::GroupId> group = graph.getGroup(op);
    if (!group || graph[*group].operations.size() != 1)
      return "already part of another kernel";
    if (graph.isConstantOnly(root) != graph.isConstantOnly(op))
      return "the contraction depends on constants only and is computed once, "
             "when the model is loaded";
    if (!haveSameSizes(cast<RankedTensorType>(op->getResult(0).getType()),
                       cast<RankedTensorType>(root->getResult(0).getType())))
      return "sizes differ from the contraction's result";
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || members.contains(producer))
        continue;
      if (producer->getBlock() == root->getBlock() && dependsOnMember(operand))
        return "another operand depends on the contraction's result through "
               "other kernels";
      if (!canRecompute(producer))
        return "an operand is an index sequence or is checked";
    }
    return "";
  }

  /// An iota cannot be read as a tensor by an epilogue, and only loops check;
  /// recomputed values may only lead to memory or a fill.
  static bool canRecompute(Operation *op) {
    while (op && isRecomputed(op) && !isa<FullOp>(op)) {
      if (isa<IotaOp, CheckOp>(op))
        return false;
      op = op->getOperand(0).getDefiningOp();
    }
    return true;
  }

  bool dependsOnMember(Value value) const {
    return llvm::any_of(members, [&](Operation *member) {
      return graph.dependsOn(value, *graph.getGroup(member));
    });
  }

  /// Rewrites user(reshape(x), ...) to reshape(user(x, ...)) if the reshape has
  /// no other user and every other operand can be had in the sizes of x.
  bool sinkReshape(ReshapeOp reshape) {
    if (!reshape->hasOneUse())
      return false;
    Operation *user = *reshape->getUsers().begin();
    if (!isPointwise(user) || user->getNumResults() != 1 ||
        !graph.getGroup(user) ||
        graph[*graph.getGroup(user)].operations.size() != 1)
      return false;
    SmallVector<AffineExpr> inner =
        getSymbolicSizes(reshape.getInput().getType());
    SmallVector<Value> operands;
    SmallVector<Operation *> created;
    OpBuilder builder(user);
    for (Value operand : user->getOperands()) {
      Value reshaped = operand == reshape.getResult()
                           ? reshape.getInput()
                           : reshapeOperand(builder, operand, inner, created);
      if (!reshaped) {
        for (Operation *op : llvm::reverse(created))
          op->erase();
        return false;
      }
      operands.push_back(reshaped);
    }
    for (Operation *op : created)
      graph.addUnfused(op, user);
    Value result = user->getResult(0);
    auto outerType = cast<RankedTensorType>(result.getType());
    user->setOperands(operands);
    result.setType(getTensorType(inner, outerType.getElementType()));
    builder.setInsertionPointAfter(user);
    auto below =
        ReshapeOp::create(builder, reshape.getLoc(), outerType, result);
    result.replaceAllUsesExcept(below, below);
    graph.addUnfused(below, user);
    reshape.erase();
    return true;
  }

  /// `operand` in the sizes `inner`: a fill is filled anew, a broadcast is
  /// broadcast anew, anything else is reinterpreted in memory.
  static Value reshapeOperand(OpBuilder &builder, Value operand,
                              ArrayRef<AffineExpr> inner,
                              SmallVectorImpl<Operation *> &created) {
    auto type = cast<RankedTensorType>(operand.getType());
    RankedTensorType target = getTensorType(inner, type.getElementType());
    Operation *producer = operand.getDefiningOp();
    if (producer && isRecomputed(producer) && !isa<ConvertOp>(producer)) {
      if (auto full = dyn_cast<FullOp>(producer)) {
        created.push_back(FullOp::create(builder, full.getLoc(), target,
                                         full.getValueAttr()));
        return created.back()->getResult(0);
      }
      auto expand = dyn_cast<ExpandOp>(producer);
      if (!expand)
        return {};
      std::optional<SmallVector<AffineExpr>> source =
          reshapeBroadcast(getSymbolicSizes(expand.getInput().getType()),
                           getSymbolicSizes(type), inner);
      if (!source)
        return {};
      Value input = expand.getInput();
      RankedTensorType sourceType =
          getTensorType(*source, type.getElementType());
      if (sourceType != input.getType()) {
        created.push_back(
            ReshapeOp::create(builder, expand.getLoc(), sourceType, input));
        input = created.back()->getResult(0);
      }
      created.push_back(
          ExpandOp::create(builder, expand.getLoc(), target, input));
      return created.back()->getResult(0);
    }
    created.push_back(
        ReshapeOp::create(builder, operand.getLoc(), target, operand));
    return created.back()->getResult(0);
  }

  KernelGraph &graph;
  Operation *root;
  const RejectFunction &reject;
  KernelGraph::GroupId id;
  SmallVector<AffineExpr> sizes;
  llvm::SmallSetVector<Operation *, 16> members;
  llvm::SmallPtrSet<Operation *, 8> refused;
};

/// Of a result that is written through strides.
void takeResultPermute(KernelGraph &graph, KernelGraph::GroupId id) {
  Operation *last = graph[id].operations.back();
  if (!last->hasOneUse())
    return;
  auto permute = dyn_cast<PermuteOp>(*last->getUsers().begin());
  if (!permute)
    return;
  std::optional<KernelGraph::GroupId> group = graph.getGroup(permute);
  if (group && graph[*group].operations.size() == 1)
    graph.merge(id, *group);
}
} // namespace

void groupEpilogues(KernelGraph &graph, const RejectFunction &reject) {
  SmallVector<Operation *> roots;
  for (KernelGraph::GroupId id : graph.getGroups())
    if (Operation *op = graph[id].operations.front(); isContraction(op))
      roots.push_back(op);
  for (Operation *root : roots) {
    EpilogueBuilder(graph, root, reject).run();
    if (cast<Contraction>(root).isWrittenThroughStrides())
      takeResultPermute(graph, *graph.getGroup(root));
  }
}

} // namespace aitune
