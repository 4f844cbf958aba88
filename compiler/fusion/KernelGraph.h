// The graph that fusion works on: the operations of one block, in groups that
// become kernels.
//
// Groups only grow, by merging. Cheap sources (fills, broadcasts, conversions
// of small constants) belong to no group: every kernel that reads one computes
// it itself, so they neither connect groups nor are stored in memory. The same
// holds for views that only contractions read, because the kernels of
// contractions read memory with strides.
#ifndef AITUNE_COMPILER_FUSION_KERNELGRAPH_H
#define AITUNE_COMPILER_FUSION_KERNELGRAPH_H

#include "compiler/dialect/Ait.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <functional>
#include <optional>

namespace aitune {

/// Called with the operation that was not fused and why, for `--explain`.
using RejectFunction =
    std::function<void(mlir::Operation *op, llvm::StringRef reason)>;

/// Whether each kernel that reads `op` computes it again instead of reading it
/// from memory.
bool isRecomputed(mlir::Operation *op);

/// Whether a loop kernel reads the operands of `op` at other places than the
/// one that it computes: data movement and windows, but for reshapes, which
/// stay outside of kernels, and what is recomputed anyway.
bool isReadThroughIndex(mlir::Operation *op);

/// Whether `op` can be in a kernel at all. The others (constants, reshapes,
/// fallbacks, launches, terminators) stay in the block.
bool isFusable(mlir::Operation *op);

class KernelGraph {
public:
  using GroupId = unsigned;
  struct Group {
    mlir::ait::KernelKind kind; ///< Loop, or the kind of its contraction
    /// The kernel's operations in block order.
    llvm::SmallVector<mlir::Operation *> operations;
  };

  /// Every fusable operation of `block` that is not recomputed starts as a
  /// group of its own.
  explicit KernelGraph(mlir::Block &block);

  /// Whether `op` is a view (permute, slice, expand, reshape) of memory that
  /// matmuls and attentions, and nothing else, read in place.
  bool isReadInPlace(mlir::Operation *op) const {
    return readInPlace.contains(op);
  }

  /// The group of `op`; not set if it is recomputed or not fusable.
  std::optional<GroupId> getGroup(mlir::Operation *op) const;
  const Group &operator[](GroupId id) const { return groups[id]; }
  /// The ids of groups that have operations, in order of their first one.
  llvm::SmallVector<GroupId> getGroups() const;

  /// Moves the operations of `from` to `to`, which keeps its kind.
  void merge(GroupId to, GroupId from);

  /// Whether `consumer` also depends on `producer` through an operation outside
  /// of both, so that merging them would make a cycle.
  bool hasPathAround(GroupId producer, GroupId consumer) const;

  /// Whether `value` depends on a result of `group` through an operation
  /// outside of it.
  bool dependsOn(mlir::Value value, GroupId group) const;

  /// Whether `value` has a user that is not in `group`.
  bool escapes(mlir::Value value, GroupId group) const;

  /// Whether `op` depends on constants only, with static sizes: such kernels
  /// run once, when the model is loaded, and stay apart from the others.
  bool isConstantOnly(mlir::Operation *op) const {
    return constantOnly.contains(op);
  }

  /// Position in the block, for a deterministic order.
  unsigned getPosition(mlir::Operation *op) const {
    return positions.lookup(op);
  }

  /// Adds an operation that was created after the graph to `group`, with the
  /// position of `like`.
  void add(mlir::Operation *op, GroupId group, mlir::Operation *like);

  /// Adds an operation that was created after the graph, as not fusable, with
  /// the position of `like`.
  void addUnfused(mlir::Operation *op, mlir::Operation *like);

private:
  class PathSearch;

  llvm::SmallVector<Group> groups;
  llvm::DenseMap<mlir::Operation *, GroupId> groupOf;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
  llvm::SmallPtrSet<mlir::Operation *, 16> constantOnly, readInPlace;
};

} // namespace aitune

#endif // AITUNE_COMPILER_FUSION_KERNELGRAPH_H
