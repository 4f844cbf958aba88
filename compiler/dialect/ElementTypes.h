// PyTorch's dtypes as MLIR element types and back, in one place: bool is i1,
// uint8 is ui8 (the only unsigned type), other integers are signless, floats
// are those of the same name. Thread-safe.
#ifndef AITUNE_COMPILER_DIALECT_ELEMENTTYPES_H
#define AITUNE_COMPILER_DIALECT_ELEMENTTYPES_H

#include <optional>

#include "mlir/IR/BuiltinTypes.h"
#include "runtime/tensor/data_type.h"

namespace mlir::ait {

/// The element type that stands for `dtype`. Never null.
Type toElementType(aitune::DataType dtype, MLIRContext *context);

/// The dtype that `elementType` stands for; not set if there is none.
std::optional<aitune::DataType> toDataType(Type elementType);

/// Whether `elementType` is f16 or bf16.
bool isHalf(Type elementType);

/// Whether `elementType` is a float of 8 bits. Nothing is computed in it: its
/// values are codes of a quantised tensor, multiplied as they are or widened.
bool isFloatCode(Type elementType);

} // namespace mlir::ait

#endif // AITUNE_COMPILER_DIALECT_ELEMENTTYPES_H
