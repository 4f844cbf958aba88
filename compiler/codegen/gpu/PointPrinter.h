// Prints, as CUDA text, the element of a tensor at an index by following
// linalg.generic bodies back to the kernel's arguments. The counterpart of the
// CPU's PointEmitter: the caller opens scopes (loops, branches) and asks for
// values inside; the printer finds out by itself
// - the outermost scope a value can stand in, so what a loop does not change is
//   computed before it;
// - what was printed already: a value at an index is printed once a scope;
// - which loads of neighbouring elements are one load of a pack.
//
// A lane scope is a loop over `lanes` neighbouring values of one dim that the
// compiler unrolls. Loads whose address follows the lane are made before it, as
// packs; reductions that differ between lanes keep an array of accumulators.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_POINTPRINTER_H
#define AITUNE_COMPILER_CODEGEN_GPU_POINTPRINTER_H

#include <functional>
#include <string>

#include "compiler/codegen/cpu/loops/LoopAnalysis.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace aitune {

/// A block of the text being printed.
struct PrintScope {
  PrintScope *parent = nullptr;
  unsigned depth = 1;
  std::string text;
  /// What a dim is, as an expression without side effects.
  llvm::DenseMap<unsigned, std::string> bindings;
  llvm::DenseMap<unsigned, DimRange> ranges;
  std::optional<unsigned> laneDim;
  int64_t lanes = 1;
  /// The lane dim's first value, a multiple of `lanes`; the loop variable is
  /// always "j", as lane scopes do not nest.
  std::string laneBase;
  /// Runs only when `condition` holds; a load must not be moved out without
  /// it. Empty: not an expression of things known outside.
  bool isBranch = false;
  std::string condition;
  bool conditionVariesWithLane = false;
  using Key = std::pair<mlir::Value, mlir::AffineMap>;
  llvm::DenseMap<Key, std::string> known;
  llvm::DenseMap<Key, std::string> packs;
};

/// Loads that are kept in registers between the loops over a row: the loop over
/// the row's chunks reads the same elements in each thread every time.
struct RowCache {
  PrintScope *row = nullptr;
  int64_t chunks = 0; ///< of a thread; 0: do not keep
  /// Opens the loop over chunks, variable "c", with the bindings that all such
  /// loops have; the lane dim is bound to the lanes' first value.
  std::function<void(llvm::function_ref<void()>)> forEachChunk;
  llvm::DenseSet<unsigned> dims; ///< that the loop binds
  int64_t elements = 0;          ///< kept so far in a thread
};

class PointPrinter {
public:
  explicit PointPrinter(DimTable &dims) : dims(dims) {}

  /// How an argument is read. `at` replaces the memory access: the element's
  /// value for an index (or nullopt, which makes the kernel be refused).
  struct Argument {
    std::string pointer;
    std::function<std::optional<std::string>(llvm::ArrayRef<mlir::AffineExpr>)>
        at;
  };
  llvm::DenseMap<mlir::Value, Argument> arguments;
  DimTable &dims;
  PrintScope *current = nullptr;
  RowCache cache;
  /// Something printed writes to the parameter `checks`.
  bool reports = false;
  /// The first reason why the text is not complete; empty if it is.
  std::string error;

  /// The element of `tensor` at `exprs`: a name or a literal.
  std::string pull(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> exprs);
  /// Stores to a dense tensor. Inside lanes that are neighbours in memory the
  /// store is of a pack and pending until flushStores() after the lanes.
  void store(const std::string &value, const std::string &pointer,
             mlir::RankedTensorType type,
             llvm::ArrayRef<mlir::AffineExpr> exprs);

  void flushStores();

  /// An index expression as text.
  std::string index(mlir::AffineExpr expr);
  /// The same as the right operand of / or %.
  std::string divisor(mlir::AffineExpr expr);
  void line(const std::string &text);
  void lineIn(PrintScope *scope, const std::string &text);
  std::string fresh(const char *prefix);

  /// `head {` body `}` in a new scope.
  void block(const std::string &head,
             llvm::function_ref<void(PrintScope &)> setUp,
             llvm::function_ref<void()> body, bool unroll = false);
  /// The loop over the lanes of `dim` from `base`; none when lanes == 1, where
  /// the dim is bound to `base` itself.
  void lanes(unsigned dim, int64_t count, const std::string &base,
             llvm::function_ref<void()> body);
  PrintScope *laneScope() const;

  /// One way to combine two partial results, as a struct of Reduce.cuh: "Sum".
  /// Empty for a reduction without one (positions of extrema, scans).
  static std::string combiner(mlir::linalg::GenericOp generic);
  /// The literal a reduction starts from.
  std::string neutral(mlir::linalg::GenericOp generic, unsigned result);
  /// One step of a reduction: `accumulator` is combined with the element at
  /// `loops`.
  void step(mlir::linalg::GenericOp generic,
            llvm::ArrayRef<mlir::AffineExpr> loops,
            llvm::ArrayRef<std::string> accumulators);
  /// Makes a tensor's element at an index known under a name.
  void define(PrintScope *scope, mlir::Value tensor,
              llvm::ArrayRef<mlir::AffineExpr> exprs, const std::string &name);

private:
  struct Body {
    mlir::linalg::GenericOp generic;
    llvm::SmallVector<mlir::AffineExpr> loops;
    llvm::DenseMap<mlir::Value, std::string> known;
  };

  PrintScope *placementOf(llvm::ArrayRef<mlir::AffineExpr> exprs) const;
  std::string pullHere(mlir::Value tensor,
                       llvm::ArrayRef<mlir::AffineExpr> exprs);
  std::optional<DimRange> range(unsigned dim) const;
  const std::string *binding(unsigned dim) const;
  std::string fail(const std::string &reason);

  // PrintBody.cpp
  std::string evaluate(mlir::Value value, Body &body);
  std::string evaluateBranch(mlir::scf::IfOp op, unsigned result, Body &body);
  mlir::AffineExpr indexOf(mlir::Value value, Body &body);
  std::optional<bool> decide(mlir::Value condition, Body &body);
  struct Condition {
    std::string text;
    bool variesWithLane;
  };
  std::optional<Condition> indexCondition(mlir::Value condition, Body &body);

  // PrintMemory.cpp
  std::string load(mlir::BlockArgument argument,
                   llvm::ArrayRef<mlir::AffineExpr> exprs);
  /// Whether the lanes of `scope` are neighbours at `address`, on a boundary
  /// of as many elements.
  bool isPack(const PrintScope &scope, const LinearForm &address) const;
  std::string loadPack(PrintScope *lane, mlir::BlockArgument argument,
                       const LinearForm &address);

  // PrintReductions.cpp
  void reduce(mlir::linalg::GenericOp generic, unsigned result,
              llvm::ArrayRef<mlir::AffineExpr> exprs);
  std::string scan(mlir::linalg::GenericOp generic,
                   llvm::ArrayRef<mlir::AffineExpr> exprs);
  void reductionLoops(mlir::linalg::GenericOp generic,
                      llvm::MutableArrayRef<mlir::AffineExpr> loops,
                      llvm::function_ref<void()> body);

  llvm::StringMap<unsigned> counters;
  llvm::SmallVector<std::string> pendingStores;
};

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_POINTPRINTER_H
