// The `ait` dialect's C++ face: operations, the traits that passes ask for, and
// helpers for sizes that are expressions.
//
// Every tensor type in the dialect is a RankedTensorType. A type with dynamic
// sizes carries them as an affine map in its encoding, with the module's
// symbols as the map's symbols; getSymbolicSizes and getTensorType read and
// make such types so that no pass handles the encoding by hand.
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
/// Each element of the result is an element of an operand, or a constant that
/// the operation names: nothing is computed.
template <typename ConcreteType>
class Movement : public TraitBase<ConcreteType, Movement> {};
/// Each element of the result is computed from the operand's elements around
/// one place.
template <typename ConcreteType>
class Window : public TraitBase<ConcreteType, Window> {};
} // namespace ait
} // namespace OpTrait

namespace ait {

/// Whether `type` is a tensor type the dialect allows: ranked, and either
/// static without encoding or dynamic with an affine_map of as many results as
/// axes, constant exactly at the static ones.
bool isValidTensorType(Type type);

/// A canonical form of a size: equal polynomials over the symbols become the
/// same expression (`s0 * 4 * 3` and `s0 * 12`), so that == proves equality.
AffineExpr canonicalizeSize(AffineExpr size);

/// The sizes of `type` as affine expressions over the module's symbols:
/// constants for static axes. One expression an axis.
SmallVector<AffineExpr> getSymbolicSizes(RankedTensorType type);

/// The tensor type with these sizes (constants or expressions over symbols)
/// and this element type. Static if every size is constant.
RankedTensorType getTensorType(ArrayRef<AffineExpr> sizes, Type elementType);

/// `type` with another element type, sizes kept.
RankedTensorType withElementType(RankedTensorType type, Type elementType);

/// The product of the sizes of `type`, simplified.
AffineExpr getElementCount(RankedTensorType type);

/// Whether two tensor types have provably equal sizes.
bool haveSameSizes(RankedTensorType lhs, RankedTensorType rhs);

/// Whether two sizes can be equal for some values of the symbols. Verifiers
/// report a proof of the contrary; an unknown is the frontend's responsibility.
bool mayBeEqual(AffineExpr lhs, AffineExpr rhs);

/// The verifier shared by all reductions: dims sorted, unique and in range,
/// reduced sizes 1, other sizes equal to the input's.
LogicalResult verifyReduction(Operation *op);
/// The verifier shared by the pools: rank 4, two numbers an attribute, same
/// batch and channels.
LogicalResult verifyPool2d(Operation *op);
/// The verifier shared by the normalisations: type kept, weight and bias of
/// the normalised sizes (of the channels for group_norm).
LogicalResult verifyNormalization(Operation *op);

/// Whether `op` is pointwise (trait Pointwise).
inline bool isPointwise(Operation *op) {
  return op->hasTrait<OpTrait::ait::Pointwise>();
}
/// Whether `op` is a reduction (trait Reduction).
inline bool isReduction(Operation *op) {
  return op->hasTrait<OpTrait::ait::Reduction>();
}
/// Whether computing `op` again for every read costs next to nothing (trait
/// CheapPointwise).
inline bool isCheapPointwise(Operation *op) {
  return op->hasTrait<OpTrait::ait::CheapPointwise>();
}
/// Whether `op` copies elements without computing on them (trait Movement).
inline bool isMovement(Operation *op) {
  return op->hasTrait<OpTrait::ait::Movement>();
}
/// Whether `op` computes on the elements around one place (trait Window).
inline bool isWindow(Operation *op) {
  return op->hasTrait<OpTrait::ait::Window>();
}

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
/// Whether `value` is a constant of the pool, under any sizes.
bool isReshapedConstant(Value value);
} // namespace mlir::ait

#endif // AITUNE_COMPILER_DIALECT_AIT_H
