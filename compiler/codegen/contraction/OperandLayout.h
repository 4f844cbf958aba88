// The memory layout of tensors inside a contraction kernel.
//
// A kernel body reads its arguments through views (reshape, permute, expand,
// slice) and writes its results through them. A contraction wants an address
// for "row r, column c", so views are followed down to the argument once, at
// compile time. Axes hold a list of modes, not one stride: the T*H rows of a
// [T, H*D] tensor read as [H, T, D] have no single stride, but two.
#ifndef AITUNE_COMPILER_CODEGEN_CONTRACTION_OPERANDLAYOUT_H
#define AITUNE_COMPILER_CODEGEN_CONTRACTION_OPERANDLAYOUT_H

#include <string>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinTypes.h"

namespace aitune {

/// `size` steps of `stride` elements; both over the module's symbols.
struct LayoutMode {
  mlir::AffineExpr size, stride;
  bool operator==(const LayoutMode &other) const {
    return size == other.size && stride == other.stride;
  }
};

/// The modes of one axis, outermost first: the digits of the axis's index in
/// the mixed radix of the modes' sizes are the indices of the modes. No mode
/// has size 1, and an axis of size 1 has no modes. Neighbouring modes that
/// could be one mode are one.
using LayoutAxis = llvm::SmallVector<LayoutMode, 2>;

/// Element (i0, i1, ...) is at offset + sum of the axes' contributions, in
/// elements from the start of the buffer.
struct Layout {
  mlir::AffineExpr offset;
  llvm::SmallVector<LayoutAxis, 4> axes;
  bool operator==(const Layout &other) const {
    return offset == other.offset && axes == other.axes;
  }

  /// One axis that runs through axes [begin, end), outermost first.
  LayoutAxis collapse(unsigned begin, unsigned end) const;
};

/// Merges neighbouring modes that could be one and removes those of size 1.
LayoutAxis coalesce(llvm::ArrayRef<LayoutMode> modes);

/// The product of the modes' sizes.
mlir::AffineExpr getAxisSize(const LayoutAxis &axis,
                             mlir::MLIRContext *context);

/// Whether the axis is never stepped through in memory (broadcast or size 1).
bool isBroadcast(const LayoutAxis &axis);

/// Whether the axis is of size 1 or one mode of stride 1.
bool isContiguous(const LayoutAxis &axis);

/// The layout of a dense row-major buffer of this type.
Layout getDenseLayout(mlir::RankedTensorType type);

/// A view operation as a change of layout, free of the operation, so that its
/// inverse is one too.
struct ViewStep {
  enum class Kind { Reshape, Permute, Expand, Slice };
  Kind kind;
  llvm::SmallVector<mlir::AffineExpr, 4> sizes; ///< sizes of the result
  llvm::SmallVector<int64_t, 4> permutation;    ///< a Permute's axes
  /// A Slice's first elements and distances.
  llvm::SmallVector<int64_t, 4> starts, steps;
};

/// The step of ait.reshape, permute, expand or slice; not set for other
/// operations.
std::optional<ViewStep> getViewStep(mlir::Operation *op);

/// The step from the result of `op` back to its input; only reshape and permute
/// have one.
std::optional<ViewStep> getInverseViewStep(mlir::Operation *op);

/// The layout of a view of a tensor with this layout. Fails and sets `reason`
/// if the view has no layout (a reshape across a gap, a slice through several
/// modes).
mlir::FailureOr<Layout> applyView(const Layout &layout, const ViewStep &step,
                                  std::string &reason);

/// A value in a kernel body that is made from an argument by views and widening
/// conversions of floats only.
struct OperandAccess {
  unsigned argument;     ///< number of the argument
  Layout layout;         ///< where the value's elements are in the argument
  mlir::Type storedType; ///< element type of the argument
};

/// Follows `value` to an argument of the kernel. Fails and sets `reason` if it
/// is made by other operations.
mlir::FailureOr<OperandAccess> getOperandAccess(mlir::Value value,
                                                std::string &reason);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CONTRACTION_OPERANDLAYOUT_H
