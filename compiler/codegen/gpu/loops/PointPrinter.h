// Prints, as CUDA text, the element of a tensor at an index: the GPU's half of
// the loop compiler. Where a value stands, and whether it is there already,
// PointWalker decides; here is how it is spelt, and which loads of neighbouring
// elements are one load of a pack.
//
// A lane scope is a loop over `lanes` neighbouring values of one dim that the
// compiler unrolls. Loads whose address follows the lane are made before it, as
// packs; reductions that differ between lanes keep an array of accumulators.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_LOOPS_POINTPRINTER_H
#define AITUNE_COMPILER_CODEGEN_GPU_LOOPS_POINTPRINTER_H

#include <functional>
#include <string>

#include "compiler/codegen/loops/LoopNest.h"
#include "compiler/codegen/loops/PointWalker.h"
#include "llvm/ADT/StringMap.h"

namespace aitune {

/// A block of the text being printed. Dims are expressions without side
/// effects.
struct PrintScope : PointScope<PrintScope, std::string> {
  unsigned depth = 1; ///< of the indentation, two spaces each
  std::string text;
  /// The lane dim's first value, a multiple of `lanes`; the loop variable is
  /// always "j", as lane scopes do not nest.
  std::string laneBase;
  /// When a branch runs; a load must not be moved out of it without this.
  /// Empty: not an expression of things known outside.
  std::string condition;
  bool conditionVariesWithLane = false;
  /// The packs loaded, by argument and address.
  llvm::DenseMap<Key, std::string> packs;
};

extern template class PointWalker<PrintScope>;

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

class PointPrinter : public PointWalker<PrintScope> {
public:
  using PointWalker::PointWalker;

  /// How an argument is read. `at` replaces the memory access: the element's
  /// value for an index (or nullopt, which makes the kernel be refused).
  struct Argument {
    std::string pointer;
    std::function<std::optional<std::string>(llvm::ArrayRef<mlir::AffineExpr>)>
        at;
  };
  llvm::DenseMap<mlir::Value, Argument> arguments;
  RowCache cache;
  /// Something printed writes to the parameter `checks`.
  bool reports = false;

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
  /// Gives the current scope the value of a group's loop.
  void bind(const LoopGroup &group, const std::string &value);

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

private:
  std::string fail(const std::string &reason);
  /// index(expr) with a dim replaced by `value` in `scope`.
  std::string indexWith(PrintScope &scope, unsigned dim,
                        const std::string &value, mlir::AffineExpr expr);

  // PointWalker; the values are names or literals.
  std::string zero(mlir::Type type) override;
  std::string constant(mlir::TypedAttr value) override;
  std::string indexValue(mlir::AffineExpr expr, mlir::Type type) override;
  std::string load(mlir::BlockArgument argument,
                   llvm::ArrayRef<mlir::AffineExpr> exprs) override;
  std::string operation(mlir::Operation *op,
                        llvm::MutableArrayRef<std::string> operands) override;
  std::string select(mlir::scf::IfOp op, mlir::Value onTrue,
                     mlir::Value onFalse, Body &body) override;
  void report(mlir::ait::ReportOp op, std::string failed,
              std::string shown) override;
  llvm::SmallVector<std::string> reduce(Reduction &reduction) override;
  std::string runScan(Scan &scan) override;

  // PrintBody.cpp
  struct Condition {
    std::string text;
    bool variesWithLane;
  };
  std::optional<Condition> indexCondition(mlir::Value condition, Body &body);

  // PrintMemory.cpp
  /// Whether the lanes of `scope` are neighbours at `address`, on a boundary
  /// of as many elements.
  bool isPack(const PrintScope &scope, const LinearForm &address) const;
  std::string loadPack(PrintScope *lane, mlir::BlockArgument argument,
                       const LinearForm &address);

  // PrintReductions.cpp
  /// Runs `body` in a loop over each of the dims, outermost first.
  void reductionLoops(llvm::ArrayRef<unsigned> reduced,
                      llvm::function_ref<void()> body);

  llvm::StringMap<unsigned> counters;
  llvm::SmallVector<std::string> pendingStores;
};

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_LOOPS_POINTPRINTER_H
