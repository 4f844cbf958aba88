// The classes of the `ait` dialect (AitBase.td says what it is), the traits by
// which passes recognise kinds of operations, and functions for symbolic sizes.
//
// Every tensor type in the dialect is a RankedTensorType. A type with dynamic
// sizes has them as an affine map in its encoding, with the module's symbols as
// the map's symbols. getSymbolicSizes reads and getTensorType makes such types,
// so that no pass handles the encoding by itself.
//
// All functions are thread-safe, as MLIR's are: operations of different
// functions may be handled at once.
#ifndef AITUNE_COMPILER_DIALECT_AIT_H
#define AITUNE_COMPILER_DIALECT_AIT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir {
namespace ait {
/// What an f32 mask of an attention with a masked score has where a pair gets
/// that score: the number next to the least of f32. Biases have the least
/// number, -infinity or numbers that were computed; were one this number, its
/// pair would get the masked score.
inline constexpr float kMaskedPair = -0x1.fffffcp+127f;

/// The verifier shared by all pointwise operations: operands and results agree
/// in their sizes, symbolic ones included.
LogicalResult verifyPointwise(Operation *op);
} // namespace ait

namespace OpTrait {
namespace ait {
/// Each element of the result is computed from the same element of each
/// operand.
template <typename ConcreteType>
class Pointwise : public TraitBase<ConcreteType, Pointwise> {
public:
  static LogicalResult verifyTrait(Operation *op) {
    return ::mlir::ait::verifyPointwise(op);
  }
};
/// Reduces the axes of the attribute `dims`, which stay with size 1.
template <typename ConcreteType>
class Reduction : public TraitBase<ConcreteType, Reduction> {};
/// Pointwise, and so cheap that a reader may compute it again.
template <typename ConcreteType>
class CheapPointwise : public TraitBase<ConcreteType, CheapPointwise> {};
/// Each element of the result is an element of an operand, or a constant of the
/// operation: nothing is computed.
template <typename ConcreteType>
class Movement : public TraitBase<ConcreteType, Movement> {};
/// A movement of which each element is one of the first operand: what is known
/// of all elements of that operand holds for those of the result.
template <typename ConcreteType>
class Selection : public TraitBase<ConcreteType, Selection> {};
/// Each element of the result is computed from neighbouring elements of the
/// operand.
template <typename ConcreteType>
class Window : public TraitBase<ConcreteType, Window> {};
} // namespace ait
} // namespace OpTrait

namespace ait {

/// Whether `type` is a tensor type of the dialect: ranked, and either static
/// without an encoding, or dynamic with an affine map without dimensions that
/// has a result for each axis. The result is a constant, the size, exactly for
/// static axes; the map has no symbols after the last one that it uses.
bool isValidTensorType(Type type);

/// The canonical form of a size: polynomials over the symbols that are equal
/// become the same expression (`s0 * 4 * 3` and `s0 * 12`), so that == of two
/// canonical sizes proves that they are equal.
AffineExpr canonicalizeSize(AffineExpr size);

/// The size of each axis of `type` as an expression over the module's symbols;
/// a constant for a static axis.
SmallVector<AffineExpr> getSymbolicSizes(RankedTensorType type);

/// The tensor type with these sizes (constants or expressions over symbols),
/// which are made canonical, and this element type. It is static if every size
/// is constant.
RankedTensorType getTensorType(ArrayRef<AffineExpr> sizes, Type elementType);

/// The type with the sizes of `type` and this element type.
RankedTensorType withElementType(RankedTensorType type, Type elementType);

/// The number of elements of `type`, the canonical product of its sizes.
AffineExpr getElementCount(RankedTensorType type);

/// Whether two tensor types have the same rank and sizes that are provably
/// equal.
bool haveSameSizes(RankedTensorType lhs, RankedTensorType rhs);

/// Whether two sizes may be equal for some values of the symbols: false if
/// their difference is a constant other than 0. Verifiers report only such
/// sizes; that others are equal is the responsibility of whoever makes the
/// operation.
bool mayBeEqual(AffineExpr lhs, AffineExpr rhs);

/// The verifier of all reductions: `dims` are axes in ascending order, each
/// once; the result has size 1 along them and the input's sizes elsewhere; its
/// element type is the one that the operation's description says.
LogicalResult verifyReduction(Operation *op);
/// Checks that `pair`, the attribute `name` of `op`, is two numbers (height,
/// width), each at least `least`.
LogicalResult verifyPair(Operation *op, StringRef name, ArrayRef<int64_t> pair,
                         int64_t least);
/// The verifier of the pools: ranks are 4, attributes are two numbers each, and
/// batch, channels and element type are kept.
LogicalResult verifyPool2d(Operation *op);
/// The verifier of the normalisations with weights: the result has the input's
/// type, weight and bias the sizes of the normalised axes (for group_norm of
/// the channels).
LogicalResult verifyNormalization(Operation *op);

/// Whether `op` is pointwise (trait Pointwise).
inline bool isPointwise(Operation *op) {
  return op->hasTrait<OpTrait::ait::Pointwise>();
}
/// Whether `op` is a reduction (trait Reduction).
inline bool isReduction(Operation *op) {
  return op->hasTrait<OpTrait::ait::Reduction>();
}
/// Whether `op` is pointwise and so cheap that a reader may compute it again
/// (trait CheapPointwise).
inline bool isCheapPointwise(Operation *op) {
  return op->hasTrait<OpTrait::ait::CheapPointwise>();
}
/// Whether `op` moves elements without computing anything (trait Movement).
inline bool isMovement(Operation *op) {
  return op->hasTrait<OpTrait::ait::Movement>();
}
/// Whether each element of the result of `op` is one of its first operand
/// (trait Selection).
inline bool isSelection(Operation *op) {
  return op->hasTrait<OpTrait::ait::Selection>();
}
/// Whether `op` computes on neighbouring elements (trait Window).
inline bool isWindow(Operation *op) {
  return op->hasTrait<OpTrait::ait::Window>();
}

/// How the kernel of a contraction reads one of its operands.
enum class OperandRead {
  Dense,       ///< reads memory without gaps, in the order of its axes
  Strided,     ///< reads memory in place, through the strides of a view
  StridedRows, ///< is Strided; elements of its last axis are best neighbours
  Elementwise, ///< an element at a time, from memory or computed there; the
               ///< contraction broadcasts it
};

/// The sizes of a product, over the module's symbols:
/// result[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n].
/// - Matmul: the leading axes are batches.
/// - Convolution: a batch for each group; m is the number of the result's
/// pixels
///   in all images, n that of the channels of a group's result, k the number of
///   taps times the channels of a group's input.
/// - Attention, of which this is the first product: a batch for each head of
///   each sequence; m queries, n keys, and k the depth of a query.
struct ProductSizes {
  AffineExpr batch, m, n, k;
};

} // namespace ait
} // namespace mlir

#include "compiler/dialect/AitDialect.h.inc"

#include "compiler/dialect/AitEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/dialect/AitAttributes.h.inc"

#include "compiler/dialect/AitInterfaces.h.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/dialect/AitTypes.h.inc"

#define GET_OP_CLASSES
#include "compiler/dialect/AitOps.h.inc"

namespace mlir::ait {
/// Whether `op` has the interface Contraction.
inline bool isContraction(Operation *op) { return isa<Contraction>(op); }
/// Whether `value` is an ait.constant, or reshapes of one.
bool isReshapedConstant(Value value);
} // namespace mlir::ait

#endif // AITUNE_COMPILER_DIALECT_AIT_H
