// The walk from an element of a tensor back to the kernel's arguments, which
// the loop compilers of all devices share (README.md follows an example).
//
// The caller opens scopes (loops, branches) and asks for values inside them.
// The walker follows linalg.generic bodies from these values and finds out by
// itself
// - the outermost scope in which a value can be computed: a value that a loop
//   does not change is computed before the loop, so row statistics and
//   broadcast operands need no schedule of their own;
// - which elements have been computed already: each is computed once in a
// scope;
// - which conditions have the same result for all values of the loops.
// A device derives from the walker, and defines how one operation, load or loop
// is written.
#ifndef AITUNE_COMPILER_CODEGEN_LOOPS_POINTWALKER_H
#define AITUNE_COMPILER_CODEGEN_LOOPS_POINTWALKER_H

#include <string>

#include "compiler/codegen/loops/LoopAnalysis.h"
#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"

namespace aitune {

/// A block of the code being written: a loop's body, a chunk of one, a branch.
/// `ElementType` is how the device refers to a computed value. A device's scope
/// is `struct Scope : PointScope<Scope, ElementType>`.
template <typename Scope, typename ElementType> struct PointScope {
  using Element = ElementType;
  using Key = std::pair<mlir::Value, mlir::AffineMap>; ///< tensor and index

  Scope *parent = nullptr; ///< the scope around, null for the kernel's body
  /// The value of each dim that this scope binds.
  llvm::DenseMap<unsigned, Element> bindings;
  /// The ranges of dims of which this scope covers only a part.
  llvm::DenseMap<unsigned, DimRange> ranges;
  /// The dim of which the scope computes `lanes` neighbouring values at once.
  std::optional<unsigned> laneDim;
  int64_t lanes = 1; ///< number of values of laneDim
  /// Whether the scope runs only if a condition is true: no code may be moved
  /// out of it.
  bool isBranch = false;
  /// The elements computed in this scope.
  llvm::DenseMap<Key, Element> known;
};

/// Not thread-safe. Members are defined in PointWalkerImpl.h, which the one
/// source file of a device that instantiates the walker includes.
template <typename Scope> class PointWalker {
public:
  using Element = typename Scope::Element;

  /// `dims` contains all dims that index expressions use. It must outlive the
  /// walker, which adds the dims of loops that it opens.
  explicit PointWalker(DimTable &dims) : dims(dims) {}
  virtual ~PointWalker() = default;

  DimTable &dims;
  /// The scope in which code is written. It is owned by the code that opened
  /// it.
  Scope *current = nullptr;
  /// The first reason why the code is not complete; empty if it is complete.
  std::string error;

  /// The element of `tensor` at `exprs`, which has one index expression for
  /// each axis. If it cannot be computed, sets `error` and returns a zero.
  Element pull(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> exprs);
  /// Records that an element has been computed in `scope`.
  void define(Scope *scope, mlir::Value tensor,
              llvm::ArrayRef<mlir::AffineExpr> exprs, const Element &element);

  /// Runs `body` in a new scope; `setUp` fills it in, with `current` still the
  /// scope around.
  void inScope(llvm::function_ref<void(Scope &)> setUp,
               llvm::function_ref<void()> body);
  /// The innermost scope with lanes; null if there is none.
  Scope *laneScope() const;
  /// The range of a dim in the current scope; not set if it is not known.
  std::optional<DimRange> range(unsigned dim) const;
  /// The value of a dim in the current scope; null if no scope binds it.
  const Element *binding(unsigned dim) const;

protected:
  /// One evaluation of a generic's body.
  struct Body {
    Body(mlir::linalg::GenericOp generic,
         llvm::ArrayRef<mlir::AffineExpr> loops)
        : generic(generic), loops(loops) {}
    mlir::linalg::GenericOp generic;
    /// The value of each of the generic's loops.
    llvm::SmallVector<mlir::AffineExpr> loops;
    /// The body's values computed so far, and accumulators.
    llvm::DenseMap<mlir::Value, Element> known;
  };
  /// A generic with reduction loops, read at one index of its results.
  struct Reduction {
    mlir::linalg::GenericOp generic;
    /// The value of each of the generic's loops.
    llvm::SmallVector<mlir::AffineExpr> loops;
    /// The dims of the reduced loops, outermost first; loops of size 1 have
    /// none.
    llvm::SmallVector<unsigned> dims;
  };
  /// A generic that computes running sums along one axis.
  struct Scan {
    mlir::linalg::GenericOp generic;
    llvm::SmallVector<mlir::AffineExpr> exprs; ///< the index of the sum
    /// The value of each of the generic's loops.
    llvm::SmallVector<mlir::AffineExpr> loops;
    unsigned axis; ///< the number of the loop along which it runs
  };

  /// The value of a body's operation, with the generic's loops at `body.loops`.
  Element evaluate(mlir::Value value, Body &body);
  /// The same inside of a branch: values computed there are not known after it.
  Element evaluateApart(mlir::Value value, const Body &body);
  /// Computes one step of a reduction: the yielded values, first to last, from
  /// the elements at `loops` and the accumulators. Calls `yield` with each
  /// value before it computes the next one.
  void
  evaluateStep(mlir::linalg::GenericOp generic,
               llvm::ArrayRef<mlir::AffineExpr> loops,
               llvm::ArrayRef<Element> accumulators,
               llvm::function_ref<void(size_t number, Element value)> yield);
  /// The result of a condition if it is the same for all values of the dims in
  /// the current scope; otherwise not set.
  std::optional<bool> decide(mlir::Value condition, const Body &body) const;
  /// Sets the loop of the scan's axis to a new dim, which starts at its first
  /// element. Returns the dim.
  unsigned restart(Scan &scan);
  /// Sets `error` if it is empty; returns a zero of `type`.
  Element fail(mlir::Type type, const std::string &reason);

  // The functions that a device defines.

  /// Runs `body` with `scope`, one of the enclosing scopes, as the current one.
  virtual void runIn(Scope *scope, llvm::function_ref<void()> body);
  virtual Element zero(mlir::Type type) = 0;
  virtual Element constant(mlir::TypedAttr value) = 0;
  /// The value of an index expression, as `type`: index or i64.
  virtual Element indexValue(mlir::AffineExpr expr, mlir::Type type) = 0;
  /// The element of a kernel's argument at `exprs`.
  virtual Element load(mlir::BlockArgument argument,
                       llvm::ArrayRef<mlir::AffineExpr> exprs) = 0;
  /// The result of an operation with one result and without regions.
  virtual Element operation(mlir::Operation *op,
                            llvm::MutableArrayRef<Element> operands) = 0;
  /// The value of `onTrue` or `onFalse` in `body`, by the condition of `op`,
  /// which has to be computed.
  virtual Element select(mlir::scf::IfOp op, mlir::Value onTrue,
                         mlir::Value onFalse, Body &body) = 0;
  /// Reports the value `shown` to the runtime if `failed` is true.
  virtual void report(mlir::ait::ReportOp op, Element failed,
                      Element shown) = 0;
  /// All results of a reduction.
  virtual llvm::SmallVector<Element> reduce(Reduction &reduction) = 0;
  /// The sum of the elements up to that of the scan's index, included.
  virtual Element runScan(Scan &scan) = 0;
  /// An element of a pointwise tensor that an earlier loop stored in memory;
  /// not set if none did.
  virtual std::optional<Element>
  reload(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> exprs) {
    return std::nullopt;
  }
  /// Called with every element of a pointwise tensor that was computed.
  virtual void keep(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> exprs,
                    const Element &element) {}

private:
  Scope *placementOf(llvm::ArrayRef<mlir::AffineExpr> exprs) const;
  Element pullHere(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> exprs);
  Element reduceHere(mlir::linalg::GenericOp generic, unsigned result,
                     llvm::ArrayRef<mlir::AffineExpr> exprs);
  Element scanHere(mlir::linalg::GenericOp generic,
                   llvm::ArrayRef<mlir::AffineExpr> exprs);
  Element evaluateOperation(mlir::Operation *op, unsigned result, Body &body);
  mlir::AffineExpr indexOf(mlir::Value value, Body &body);
};

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_LOOPS_POINTWALKER_H
