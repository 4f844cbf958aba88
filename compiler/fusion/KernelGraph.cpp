#include "compiler/fusion/KernelGraph.h"

#include "compiler/dialect/ReshapedSizes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::ait;

namespace aitune {

/// A conversion of up to this many elements of a constant is done again by
/// every kernel; a larger one once, when the model is loaded.
static constexpr int64_t maxRecomputedConstant = 1 << 16;

bool isRecomputed(Operation *op) {
  if (isa<FullOp, IotaOp, ExpandOp, CheckOp>(op))
    return true;
  if (auto convert = dyn_cast<ConvertOp>(op))
    return isReshapedConstant(convert.getInput()) &&
           convert.getType().getNumElements() <= maxRecomputedConstant;
  return false;
}

bool isReadThroughIndex(Operation *op) {
  return isWindow(op) ||
         (isMovement(op) && !isa<ReshapeOp>(op) && !isRecomputed(op));
}

bool isFusable(Operation *op) {
  return isPointwise(op) || isReduction(op) || isReadThroughIndex(op) ||
         isContraction(op) || isRecomputed(op) || isa<CumsumOp>(op);
}

static KernelKind getKind(Operation *op) {
  auto contraction = dyn_cast<Contraction>(op);
  return contraction ? contraction.getKernelKind() : KernelKind::Loop;
}

/// Whether `op` gives the same each time, knowing which operations before it
/// do.
static bool
computesConstant(Operation *op,
                 const llvm::SmallPtrSetImpl<Operation *> &constantOnly) {
  return (isFusable(op) || isa<ConstantOp, ReshapeOp>(op)) &&
         llvm::all_of(op->getResultTypes(),
                      [](Type type) {
                        return cast<RankedTensorType>(type).hasStaticShape();
                      }) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return constantOnly.contains(operand.getDefiningOp());
         });
}

static bool isStridedRead(OpOperand &use) {
  auto contraction = dyn_cast<Contraction>(use.getOwner());
  if (!contraction)
    return false;
  const OperandRead read = contraction.getOperandRead(use);
  return read == OperandRead::Strided || read == OperandRead::StridedRows;
}

/// A reshape that splits no axis of size > 1: strides survive it.
static bool onlyMergesAxes(ReshapeOp op) {
  auto blocks = findReshapeBlocks(getSymbolicSizes(op.getInput().getType()),
                                  getSymbolicSizes(op.getType()));
  return blocks && llvm::all_of(*blocks, [&](const ReshapeBlock &block) {
           unsigned wide = 0;
           for (unsigned axis = block.toBegin; axis < block.toEnd; ++axis)
             wide += op.getType().getDimSize(axis) != 1;
           return wide <= 1;
         });
}

/// The axis of `permute`'s result whose elements are neighbours in memory, if
/// that is not its last one; axes of size 1 do not count.
static std::optional<unsigned> findNeighboursBeforeLast(PermuteOp permute) {
  std::optional<unsigned> neighbours, last;
  RankedTensorType type = permute.getType();
  for (auto [axis, source] : llvm::enumerate(permute.getPermutation())) {
    if (type.getDimSize(axis) == 1)
      continue;
    last = axis;
    if (!neighbours || source > permute.getPermutation()[*neighbours])
      neighbours = axis;
  }
  return neighbours == last ? std::nullopt : neighbours;
}

/// Whether a contraction reads rows of `op`, or of a reshape of it, whose
/// elements must be neighbours.
static bool isReadByRows(Operation *op) {
  return llvm::any_of(op->getUses(), [](OpOperand &use) {
    auto contraction = dyn_cast<Contraction>(use.getOwner());
    return (contraction &&
            contraction.getOperandRead(use) == OperandRead::StridedRows) ||
           (isa<ReshapeOp>(use.getOwner()) && isReadByRows(use.getOwner()));
  });
}

/// Whether a row of `op`, which merges axes of a permute, is made of pieces of
/// memory that are shorter than a sector of a cache: copying it once is better
/// than gathering it in every tile.
static bool isScattered(ReshapeOp op) {
  auto permute = op.getInput().getDefiningOp<PermuteOp>();
  auto blocks = findReshapeBlocks(getSymbolicSizes(op.getInput().getType()),
                                  getSymbolicSizes(op.getType()));
  if (!permute || !blocks || blocks->empty())
    return false;
  ArrayRef<int64_t> order = permute.getPermutation();
  RankedTensorType type = permute.getType();
  const unsigned begin = blocks->back().fromBegin;
  // Where no axis of the row has the neighbours, other rows' elements are them,
  // as in a transposed operand.
  const std::optional<unsigned> neighbours = findNeighboursBeforeLast(permute);
  if (neighbours && *neighbours >= begin)
    return true;
  unsigned axis = type.getRank() - 1;
  int64_t bits = type.getElementTypeBitWidth();
  for (;; --axis) {
    if (type.isDynamicDim(axis))
      return false;
    bits *= type.getDimSize(axis);
    if (axis <= begin)
      return false;
    if (order[axis - 1] != order[axis] - 1)
      return bits < 64 * 8;
  }
}

/// The permute of a result that is written through strides: the matmul after it
/// then has plain operands and library candidates.
static bool isWrittenInPlace(Operation *op) {
  if (!isa<PermuteOp>(op) || !op->getOperand(0).hasOneUse())
    return false;
  auto producer = op->getOperand(0).getDefiningOp<Contraction>();
  return producer && producer.isWrittenThroughStrides();
}

/// Finds the views that contractions read in place. From memory up: permutes,
/// slices and broadcasts, then at most one merging of axes, then permutes.
static void findReadInPlace(Block &block,
                            llvm::SmallPtrSetImpl<Operation *> &readInPlace) {
  // Views that reach a contraction through a merging, or through a slice or
  // broadcast.
  llvm::SmallPtrSet<Operation *, 8> aboveMerge, aboveSlice;
  for (Operation &op : llvm::reverse(block)) {
    if (!isa<PermuteOp, SliceOp, ExpandOp, ReshapeOp>(op) || op.use_empty())
      continue;
    if (!llvm::all_of(op.getUses(), [&](OpOperand &use) {
          return isStridedRead(use) || readInPlace.contains(use.getOwner());
        }))
      continue;
    if (isWrittenInPlace(&op))
      continue;
    if (auto permute = dyn_cast<PermuteOp>(op);
        permute && findNeighboursBeforeLast(permute) && isReadByRows(&op))
      continue;
    auto anyUser = [&](function_ref<bool(Operation *)> holds) {
      return llvm::any_of(op.getUsers(), holds);
    };
    bool merged = anyUser([&](Operation *user) {
      return isa<ReshapeOp>(user) || aboveMerge.contains(user);
    });
    bool sliced = anyUser([&](Operation *user) {
      return isa<SliceOp, ExpandOp>(user) || aboveSlice.contains(user);
    });
    if (auto reshape = dyn_cast<ReshapeOp>(op)) {
      Operation *source = reshape.getInput().getDefiningOp();
      // A reshape of memory is free where it is.
      if (!source || !isa<PermuteOp, SliceOp, ExpandOp>(source) ||
          isWrittenInPlace(source) || !source->hasOneUse() || merged ||
          sliced || !onlyMergesAxes(reshape) || isScattered(reshape))
        continue;
    }
    readInPlace.insert(&op);
    if (merged)
      aboveMerge.insert(&op);
    if (sliced)
      aboveSlice.insert(&op);
  }
}

KernelGraph::KernelGraph(Block &block) {
  findReadInPlace(block, readInPlace);
  for (Operation &op : block) {
    positions[&op] = positions.size();
    if (computesConstant(&op, constantOnly))
      constantOnly.insert(&op);
    if (!isFusable(&op) || isRecomputed(&op) || isReadInPlace(&op))
      continue;
    groupOf[&op] = groups.size();
    groups.push_back({getKind(&op), {&op}});
  }
}

std::optional<KernelGraph::GroupId> KernelGraph::getGroup(Operation *op) const {
  auto it = groupOf.find(op);
  if (it == groupOf.end())
    return std::nullopt;
  return it->second;
}

SmallVector<KernelGraph::GroupId> KernelGraph::getGroups() const {
  SmallVector<GroupId> ids;
  for (GroupId id = 0; id < groups.size(); ++id)
    if (!groups[id].operations.empty())
      ids.push_back(id);
  llvm::sort(ids, [&](GroupId lhs, GroupId rhs) {
    return getPosition(groups[lhs].operations.front()) <
           getPosition(groups[rhs].operations.front());
  });
  return ids;
}

void KernelGraph::merge(GroupId to, GroupId from) {
  for (Operation *op : groups[from].operations)
    groupOf[op] = to;
  llvm::append_range(groups[to].operations, groups[from].operations);
  groups[from].operations.clear();
  llvm::sort(groups[to].operations, [&](Operation *lhs, Operation *rhs) {
    return getPosition(lhs) < getPosition(rhs);
  });
}

/// One operation after the other that lies between two groups, from one of them
/// in the direction of the other.
class KernelGraph::PathSearch {
public:
  /// Along users where `forward`, else along operands.
  PathSearch(const KernelGraph &graph, GroupId from, GroupId to, bool forward)
      : graph(graph), from(from), to(to), forward(forward) {
    for (Operation *op : graph[from].operations)
      reach(op, false);
  }

  /// Looks at the next operation. Whether there is a path; nothing as long as
  /// it is not known.
  std::optional<bool> step() {
    if (worklist.empty())
      return false;
    auto [op, around] = worklist.pop_back_val();
    if (forward) {
      for (Operation *user : op->getUsers())
        if (visit(user, around))
          return true;
      return std::nullopt;
    }
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        if (visit(producer, around))
          return true;
    return std::nullopt;
  }

private:
  /// Whether `next` ends a path on which something other than recomputed values
  /// lies.
  bool visit(Operation *next, bool around) {
    const std::optional<GroupId> group = graph.getGroup(next);
    if (group == to)
      return around;
    if (group == from)
      return false;
    if (!group) {
      reach(next, around || !isRecomputed(next));
      return false;
    }
    for (Operation *member : graph[*group].operations)
      reach(member, true);
    return false;
  }

  void reach(Operation *op, bool around) {
    if ((around ? visitedAround : visitedDirect).insert(op).second)
      worklist.emplace_back(op, around);
  }

  const KernelGraph &graph;
  const GroupId from, to;
  const bool forward;
  SmallVector<std::pair<Operation *, bool>> worklist;
  llvm::SmallPtrSet<Operation *, 16> visitedDirect, visitedAround;
};

bool KernelGraph::hasPathAround(GroupId producer, GroupId consumer) const {
  // From both ends in turn: one of them often has few neighbours, while all of
  // a long program can come after the producer or before the consumer.
  PathSearch forward(*this, producer, consumer, /*forward=*/true);
  PathSearch backward(*this, consumer, producer, /*forward=*/false);
  for (;;) {
    if (const std::optional<bool> found = forward.step())
      return *found;
    if (const std::optional<bool> found = backward.step())
      return *found;
  }
}

bool KernelGraph::dependsOn(Value value, GroupId group) const {
  SmallVector<Operation *> worklist;
  llvm::SmallPtrSet<Operation *, 16> visited;
  auto reach = [&](Operation *op) {
    if (op && visited.insert(op).second)
      worklist.push_back(op);
  };
  if (Operation *op = value.getDefiningOp(); op && getGroup(op) != group)
    reach(op);
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    std::optional<GroupId> current = getGroup(op);
    if (current == group)
      return true;
    if (current)
      for (Operation *member : groups[*current].operations)
        reach(member);
    for (Value operand : op->getOperands())
      reach(operand.getDefiningOp());
  }
  return false;
}

bool KernelGraph::escapes(Value value, GroupId group) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (std::optional<GroupId> userGroup = getGroup(user))
      return *userGroup != group;
    // A recomputed value is wherever its readers are.
    if (!isRecomputed(user))
      return true;
    return llvm::any_of(user->getResults(),
                        [&](Value result) { return escapes(result, group); });
  });
}

void KernelGraph::add(Operation *op, GroupId group, Operation *like) {
  positions[op] = positions.lookup(like);
  groupOf[op] = group;
  llvm::SmallVector<Operation *> &operations = groups[group].operations;
  operations.insert(llvm::upper_bound(operations, op,
                                      [&](Operation *lhs, Operation *rhs) {
                                        return getPosition(lhs) <
                                               getPosition(rhs);
                                      }),
                    op);
}

void KernelGraph::addUnfused(Operation *op, Operation *like) {
  positions[op] = positions.lookup(like);
}

} // namespace aitune
