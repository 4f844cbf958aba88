// The walk from an element of a tensor back to the kernel's arguments, which
// the loop compilers of all devices share (README.md follows an example).
//
// The caller opens scopes (loops, branches) and asks for values inside them.
// The walker follows linalg.generic bodies from what is asked for and finds out
// by itself
// - the outermost scope that a value can stand in: what a loop does not change
//   is computed before it, so row statistics and broadcast operands need no
//   schedule of their own;
// - what was computed already: an element is computed once in a scope;
// - which side of a condition holds for all values that the loops take.
// A device derives from it and says how one operation, load or loop is written.
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
  /// The values that dims take here, where the scope covers a part of them.
  llvm::DenseMap<unsigned, DimRange> ranges;
  /// The dim of which the scope covers `lanes` neighbouring values at once.
  std::optional<unsigned> laneDim;
  int64_t lanes = 1;
  /// Runs only when a condition holds: no code may be moved out of it.
  bool isBranch = false;
  /// The elements computed in this scope.
  llvm::DenseMap<Key, Element> known;
};

/// Not thread-safe. Members are defined in PointWalkerImpl.h, which the one
/// source file of a device that instantiates the walker includes.
template <typename Scope> class PointWalker {
public:
  using Element = typename Scope::Element;

  /// `dims` are all dims that index expressions mention; it outlives the
  /// walker, which adds those of the loops that it opens.
  explicit PointWalker(DimTable &dims) : dims(dims) {}
  virtual ~PointWalker() = default;

  DimTable &dims;
  Scope *current = nullptr; ///< where code is written; owned by who opened it
  /// Why the code is not complete: the first reason; empty if it is.
  std::string error;

  /// The element of `tensor` at `exprs`, one index expression an axis. What
  /// cannot be computed sets `error` and gives a zero.
  Element pull(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> exprs);
  /// Makes an element known in `scope`.
  void define(Scope *scope, mlir::Value tensor,
              llvm::ArrayRef<mlir::AffineExpr> exprs, const Element &element);

  /// Runs `body` in a new scope; `setUp` fills it in, with `current` still the
  /// scope around.
  void inScope(llvm::function_ref<void(Scope &)> setUp,
               llvm::function_ref<void()> body);
  /// The innermost scope with lanes, or null.
  Scope *laneScope() const;
  /// The values that a dim takes here; nothing if they are not known.
  std::optional<DimRange> range(unsigned dim) const;
  /// What a dim is here, null if no scope around binds it.
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
    /// The dims of the reduced loops, outermost first; of size 1 they have
    /// none.
    llvm::SmallVector<unsigned> dims;
  };
  /// A generic that adds up along one axis and keeps every sum on the way.
  struct Scan {
    mlir::linalg::GenericOp generic;
    llvm::SmallVector<mlir::AffineExpr> exprs; ///< where its sums are read
    /// The value of each of the generic's loops.
    llvm::SmallVector<mlir::AffineExpr> loops;
    unsigned axis; ///< the number of the loop that it runs along
  };

  /// The value of a body's operation, with the generic's loops at `body.loops`.
  Element evaluate(mlir::Value value, Body &body);
  /// The same inside a branch: what is found there is not known after it.
  Element evaluateApart(mlir::Value value, const Body &body);
  /// One step of a reduction: the yielded values, first to last, from the
  /// elements at `loops` and the accumulators; each is given to `yield` before
  /// the next one is computed.
  void
  evaluateStep(mlir::linalg::GenericOp generic,
               llvm::ArrayRef<mlir::AffineExpr> loops,
               llvm::ArrayRef<Element> accumulators,
               llvm::function_ref<void(size_t number, Element value)> yield);
  /// Whether a condition is the same for all values that the dims take here.
  std::optional<bool> decide(mlir::Value condition, const Body &body) const;
  /// Gives the scan's axis a loop of its own, from its first element. Returns
  /// the loop's dim.
  unsigned restart(Scan &scan);
  /// Sets `error` if it is empty; returns a zero of `type`.
  Element fail(mlir::Type type, const std::string &reason);

  // What a device says.

  /// Runs `body` with `scope`, one of those around, as the current one.
  virtual void runIn(Scope *scope, llvm::function_ref<void()> body);
  virtual Element zero(mlir::Type type) = 0;
  virtual Element constant(mlir::TypedAttr value) = 0;
  /// The value of an index expression, as `type`: index or i64.
  virtual Element indexValue(mlir::AffineExpr expr, mlir::Type type) = 0;
  /// The element of a kernel's argument.
  virtual Element load(mlir::BlockArgument argument,
                       llvm::ArrayRef<mlir::AffineExpr> exprs) = 0;
  /// An operation with one result and without regions.
  virtual Element operation(mlir::Operation *op,
                            llvm::MutableArrayRef<Element> operands) = 0;
  /// `onTrue` or `onFalse` of `body`, by a condition that has to be computed.
  virtual Element select(mlir::scf::IfOp op, mlir::Value onTrue,
                         mlir::Value onFalse, Body &body) = 0;
  virtual void report(mlir::ait::ReportOp op, Element failed,
                      Element shown) = 0;
  /// All results of a reduction.
  virtual llvm::SmallVector<Element> reduce(Reduction &reduction) = 0;
  /// The sum up to and with the scan's element.
  virtual Element runScan(Scan &scan) = 0;
  /// An element of a pointwise tensor that an earlier loop kept in memory;
  /// nothing if none did.
  virtual std::optional<Element>
  reload(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> exprs) {
    return std::nullopt;
  }
  /// Told of every element of a pointwise tensor that was computed.
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
