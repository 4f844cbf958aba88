#include "compiler/fusion/LoopLegality.h"

#include "compiler/dialect/Ait.h"
#include "compiler/fusion/KernelGraph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::ait;

namespace aitune {
namespace {

/// Beyond this many operations a kernel's registers spill and its name and
/// compile time get out of hand.
constexpr size_t maxOperations = 96;
/// The most indices at which a kernel computes one operation again. A chain of
/// operations each of which reads the one before at two indices doubles them,
/// and with them the code, at each step.
constexpr size_t maxIndices = 32;
/// The most reductions one after another. Each is a pass over the row, which
/// computes what the passes before it did: code and time grow with the square.
constexpr size_t maxPasses = 8;
/// More pointers than this in one loop cost more than they save.
constexpr size_t maxTensors = 24;

class LoopDomainFinder {
public:
  LoopDomainFinder(ArrayRef<Operation *> operations,
                   function_ref<bool(Value)> escapes, std::string &reason)
      : operations(operations), escapes(escapes), reason(reason),
        members(operations.begin(), operations.end()) {}

  std::optional<LoopDomain> run() {
    if (!checkSize() || !markReads() || !checkRepetition() || !findSizes() ||
        !findReducedAxes() || !checkPasses() || !checkLevels())
      return std::nullopt;
    return std::move(domain);
  }

private:
  bool reject(Operation *op, const Twine &why) {
    reason = (op->getName().getStringRef() + ": " + why).str();
    return false;
  }

  bool isMember(Operation *op) const { return op && members.contains(op); }

  /// Calls `visit` with the operands of members that read `value`, directly or
  /// through recomputed operations.
  void forEachRead(Value value, function_ref<void(OpOperand &)> visit) const {
    for (OpOperand &use : value.getUses()) {
      if (isMember(use.getOwner()))
        visit(use);
      else if (isRecomputed(use.getOwner()))
        forEachRead(use.getOwner()->getResult(0), visit);
    }
  }

  /// Calls `visit` with the members whose results `op` reads, directly or
  /// through recomputed operations.
  void forEachProducer(Operation *op,
                       function_ref<void(Operation *)> visit) const {
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (isMember(producer))
        visit(producer);
      else if (producer && isRecomputed(producer))
        forEachProducer(producer, visit);
    }
  }

  bool checkSize() {
    if (operations.size() > maxOperations) {
      reason = "the kernel would have more than " +
               std::to_string(maxOperations) + " operations";
      return false;
    }
    llvm::SmallPtrSet<Value, 16> tensors;
    for (Operation *op : operations) {
      for (Value operand : op->getOperands()) {
        Operation *producer = operand.getDefiningOp();
        if (!isMember(producer) && !(producer && isRecomputed(producer)))
          tensors.insert(operand);
      }
      for (Value result : op->getResults())
        if (escapes(result))
          tensors.insert(result);
    }
    if (tensors.size() <= maxTensors)
      return true;
    reason = "the kernel would read and write more than " +
             std::to_string(maxTensors) + " tensors";
    return false;
  }

  /// Whether neighbours in the result of `op` are none in its operand.
  static bool movesNeighbours(Operation *op) {
    auto permute = dyn_cast<PermuteOp>(op);
    return permute && permute.getPermutation().back() !=
                          int64_t(permute.getPermutation().size()) - 1;
  }

  /// Finds the operations that are read through an index computation: they are
  /// computed again at each read, so they must be cheap and read only there.
  bool markReads() {
    for (Operation *op : llvm::reverse(operations)) {
      bool readThroughIndex = false, readInPlace = false, readAgain = false;
      for (Value result : op->getResults()) {
        forEachRead(result, [&](OpOperand &read) {
          Operation *reader = read.getOwner();
          readAgain |= isWindow(reader) || isa<UpsampleNearest2dOp>(reader) ||
                       readByWindows.contains(reader);
          (isReadThroughIndex(reader) || reads.contains(reader) ||
                   isa<CumsumOp>(reader)
               ? readThroughIndex
               : readInPlace) = true;
        });
        readInPlace |= escapes(result);
      }
      if (!readThroughIndex)
        continue;
      if (readInPlace)
        return reject(op, "its value is read in order and through an index");
      if (isWindow(op) || !(isReadThroughIndex(op) || isCheapPointwise(op)))
        return reject(op, "too costly to compute again at each indexed read");
      if (readAgain && movesNeighbours(op))
        return reject(op, "a window would read its elements again and again, "
                          "each a stride apart");
      reads.insert(op);
      if (readAgain)
        readByWindows.insert(op);
    }
    return true;
  }

  /// Counts the indices at which operations that are read through an index are
  /// computed. Number 0 is the index of the kernel's own loops; another one
  /// comes of an operand that is read elsewhere and the index at which its
  /// operation is computed.
  bool checkRepetition() {
    if (reads.empty())
      return true;
    llvm::DenseMap<std::pair<OpOperand *, unsigned>, unsigned> numbers;
    llvm::DenseMap<Operation *, llvm::SmallDenseSet<unsigned, 4>> indices;
    for (Operation *op : llvm::reverse(operations)) {
      if (!reads.contains(op)) {
        indices[op].insert(0);
        continue;
      }
      llvm::SmallDenseSet<unsigned, 4> computedAt;
      forEachRead(op->getResult(0), [&](OpOperand &read) {
        const bool moves = isReadThroughIndex(read.getOwner());
        for (unsigned index : indices[read.getOwner()])
          computedAt.insert(
              moves ? numbers.try_emplace({&read, index}, numbers.size() + 1)
                          .first->second
                    : index);
      });
      if (computedAt.size() > maxIndices)
        return reject(op, "would be computed again at more than " +
                              Twine(maxIndices) + " indices");
      indices[op] = std::move(computedAt);
    }
    return true;
  }

  /// The sizes an operation iterates over.
  static SmallVector<AffineExpr> getIterationSizes(Operation *op) {
    Value value = isReduction(op) ? op->getOperand(0) : op->getResult(0);
    return getSymbolicSizes(cast<RankedTensorType>(value.getType()));
  }

  bool findSizes() {
    size_t rank = 0;
    for (Operation *op : operations)
      if (!reads.contains(op))
        rank = std::max(rank, getIterationSizes(op).size());
    domain.sizes.assign(
        rank, getAffineConstantExpr(1, operations.front()->getContext()));
    domain.reduced.assign(rank, false);
    for (Operation *op : operations) {
      if (reads.contains(op))
        continue;
      SmallVector<AffineExpr> sizes = getIterationSizes(op);
      size_t missing = rank - sizes.size();
      for (auto [axis, size] : llvm::enumerate(sizes)) {
        AffineExpr &known = domain.sizes[axis + missing];
        AffineExpr canonical = canonicalizeSize(size);
        if (known == 1)
          known = canonical;
        else if (canonical != 1 && canonical != known)
          return reject(op, "iterates over other sizes");
      }
    }
    return true;
  }

  bool findReducedAxes() {
    Operation *first = nullptr;
    for (Operation *op : operations) {
      if (!isReduction(op))
        continue;
      if (reads.contains(op))
        return reject(op, "reduced values are read through an index");
      SmallVector<bool> reduced(domain.sizes.size());
      auto input = cast<RankedTensorType>(op->getOperand(0).getType());
      size_t missing = domain.sizes.size() - input.getRank();
      for (int64_t dim :
           op->getAttrOfType<DenseI64ArrayAttr>("dims").asArrayRef())
        reduced[dim + missing] = domain.sizes[dim + missing] != 1;
      if (first && reduced != domain.reduced)
        return reject(op, "reduces other axes than " +
                              first->getName().getStringRef());
      // The index of an extreme is no value that a second pass could use.
      if (first && isa<ArgmaxOp, ArgminOp, ProdOp>(op))
        return reject(op, "is not combined with other reductions");
      if (first && isa<ArgmaxOp, ArgminOp, ProdOp>(first))
        return reject(first, "is not combined with other reductions");
      first = op;
      domain.reduced = reduced;
    }
    return true;
  }

  /// Counts the reductions on the longest way to each operation.
  bool checkPasses() {
    llvm::DenseMap<Operation *, size_t> passes;
    for (Operation *op : operations) {
      size_t before = 0;
      forEachProducer(op, [&](Operation *producer) {
        before = std::max(before, passes.lookup(producer));
      });
      passes[op] = before + isReduction(op);
      if (passes[op] > maxPasses)
        return reject(op, "follows " + Twine(maxPasses) +
                              " reductions, each of which it would repeat");
    }
    return true;
  }

  /// Every operation runs over the whole domain, or over it with exactly the
  /// reduced axes collapsed, or is so cheap that broadcasting may repeat it.
  bool checkLevels() {
    for (Operation *op : operations) {
      if (reads.contains(op))
        continue;
      SmallVector<AffineExpr> sizes = getIterationSizes(op);
      size_t missing = domain.sizes.size() - sizes.size();
      bool whole = missing == 0, collapsed = missing == 0;
      for (auto [axis, size] : llvm::enumerate(sizes)) {
        bool one = size == 1 && domain.sizes[axis + missing] != 1;
        whole &= !one;
        collapsed &= one == domain.reduced[axis + missing];
      }
      if (isa<CumsumOp>(op) && operations.size() > 1)
        return reject(op, "a running sum is a kernel of its own");
      if (whole || collapsed) {
        // A reduction of reduced values would be a second level.
        if (isReduction(op) && !whole)
          return reject(op, "reduces part of the domain");
        continue;
      }
      if (!isCheapPointwise(op) && !isReadThroughIndex(op))
        return reject(op, "broadcasting would repeat it");
      for (Value result : op->getResults())
        if (escapes(result))
          return reject(op, "its value is smaller than the domain and is "
                            "needed elsewhere");
      if (readsReduction(op))
        return reject(op, "a reduced value is needed at other sizes");
    }
    return true;
  }

  bool readsReduction(Operation *op) const {
    bool reads = false;
    forEachProducer(op, [&](Operation *producer) {
      reads |= isReduction(producer) || readsReduction(producer);
    });
    return reads;
  }

  ArrayRef<Operation *> operations;
  function_ref<bool(Value)> escapes;
  std::string &reason;
  llvm::SmallPtrSet<Operation *, 16> members;
  llvm::SmallPtrSet<Operation *, 8> reads;
  /// Those of these that windows read, which read an element several times.
  llvm::SmallPtrSet<Operation *, 8> readByWindows;
  LoopDomain domain;
};
} // namespace

std::optional<LoopDomain> findLoopDomain(ArrayRef<Operation *> operations,
                                         function_ref<bool(Value)> escapes,
                                         std::string &reason) {
  return LoopDomainFinder(operations, escapes, reason).run();
}

} // namespace aitune
