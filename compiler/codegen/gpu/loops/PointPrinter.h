// Prints, as CUDA text, the element of a tensor at an index: the GPU's part of
// the loop compiler. PointWalker decides in which scope a value is computed and
// whether it has been computed already; this class prints the text of a value,
// and decides which loads of neighbouring elements are one load of a pack.
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
  unsigned depth = 1; ///< levels of indentation, of two spaces each
  std::string text;   ///< the text of the block so far
  /// The first value of the lane dim, a multiple of `lanes`. The variable of
  /// the loop over lanes is always "j", because lane scopes do not nest.
  std::string laneBase;
  /// The condition under which a branch runs; a load that is moved out of the
  /// branch must test it. Empty: it is not an expression of values that are
  /// known outside.
  std::string condition;
  bool conditionVariesWithLane = false; ///< whether lanes differ in `condition`
  llvm::SmallVector<unsigned, 4> conditionDims; ///< that `condition` names
  /// The names of the packs that were loaded, by argument and address.
  llvm::DenseMap<Key, std::string> packs;
};

extern template class PointWalker<PrintScope>;

/// Loads that are kept in registers between the loops over a row. In each of
/// these loops, a thread reads the same elements of the row.
struct RowCache {
  PrintScope *row = nullptr; ///< the scope of the row
  int64_t chunks = 0; ///< steps of a thread's loop; 0: loads are not kept
  /// Prints a loop over the chunks, with the variable "c" and the bindings that
  /// all loops over the row have, around the text that its argument prints. The
  /// lane dim is bound to the lanes' first value.
  std::function<void(llvm::function_ref<void()>)> forEachChunk;
  llvm::DenseSet<unsigned> dims; ///< the dims that the loop binds
  int64_t elements = 0;          ///< number of elements kept in a thread so far
};

class PointPrinter : public PointWalker<PrintScope> {
public:
  using PointWalker::PointWalker;

  /// How an argument is read.
  struct Argument {
    std::string pointer; ///< the name of the pointer to its memory
    /// If set, returns the value of the element at an index, instead of a
    /// memory access. If the result is not set, the kernel is refused.
    std::function<std::optional<std::string>(llvm::ArrayRef<mlir::AffineExpr>)>
        at;
  };
  llvm::DenseMap<mlir::Value, Argument> arguments;
  RowCache cache;
  /// Whether printed text writes to the parameter `checks`.
  bool reports = false;
  /// The name of the condition under which elements are stored; empty: always.
  std::string storeCondition;

  /// Prints a store to a dense tensor. In a loop over lanes that are neighbours
  /// in memory, the lanes are stored as one pack, which flushStores() prints
  /// after the loop.
  void store(const std::string &value, const std::string &pointer,
             mlir::RankedTensorType type,
             llvm::ArrayRef<mlir::AffineExpr> exprs);

  /// Prints the stores of packs that are pending.
  void flushStores();

  /// The text of an index expression.
  std::string index(mlir::AffineExpr expr);
  /// The text of an index expression that is the right operand of / or %.
  std::string divisor(mlir::AffineExpr expr);
  /// Prints a line of text in the current scope, or in `scope`.
  void line(const std::string &text);
  void lineIn(PrintScope *scope, const std::string &text);
  /// A new name that starts with `prefix`.
  std::string fresh(const char *prefix);

  /// Prints `head {`, then in a new scope the text of `body`, then `}`. `setUp`
  /// fills in the scope; `unroll` asks the compiler to unroll the loop.
  void block(const std::string &head,
             llvm::function_ref<void(PrintScope &)> setUp,
             llvm::function_ref<void()> body, bool unroll = false);
  /// Prints the text of `body`, whose values no other part uses, without a
  /// block around it: its names must be fresh.
  void part(llvm::function_ref<void()> body);
  /// Prints a loop over `count` lanes of `dim`, which start at `base`. For one
  /// lane there is no loop, and the dim is bound to `base` itself.
  void lanes(unsigned dim, int64_t count, const std::string &base,
             llvm::function_ref<void()> body);
  /// Binds the dims of a group in the current scope to the value of its loop.
  void bind(const LoopGroup &group, const std::string &value);

  /// The struct of prelude/Reduce.cuh that combines two partial results of a
  /// reduction, such as "Sum". Empty for a reduction that has none (positions
  /// of extrema, scans).
  static std::string combiner(mlir::linalg::GenericOp generic);
  /// The literal that result `result` of a reduction starts from.
  std::string neutral(mlir::linalg::GenericOp generic, unsigned result);
  /// Prints one step of a reduction, which combines the variables
  /// `accumulators` with the element at `loops`.
  void step(mlir::linalg::GenericOp generic,
            llvm::ArrayRef<mlir::AffineExpr> loops,
            llvm::ArrayRef<std::string> accumulators);

private:
  std::string fail(const std::string &reason);
  /// The text of index(expr) in `scope`, with `dim` replaced by `value`.
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
    llvm::SmallVector<unsigned, 4> dims; ///< that `text` names
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
