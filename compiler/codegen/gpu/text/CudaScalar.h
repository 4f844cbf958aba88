// The CUDA text of types, constants and scalar operations.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_TEXT_CUDASCALAR_H
#define AITUNE_COMPILER_CODEGEN_GPU_TEXT_CUDASCALAR_H

#include <string>

#include "mlir/IR/Operation.h"

namespace aitune {

/// The name of a type: "float", "half", "long long", ...; "Index" for index.
/// Signless integers are signed. Empty for a type that kernels do not support.
std::string cudaType(mlir::Type type);

/// The bytes of an element in memory; one byte for bool.
int64_t cudaBytes(mlir::Type elementType);

/// A literal with the value and type of a FloatAttr or an IntegerAttr.
std::string cudaConstant(mlir::Attribute constant);

/// The expression for an operation of the arith or math dialect, with operands
/// that are names or literals. Operations of f16 and bf16 are computed in
/// float. Empty for an operation that is not supported.
std::string cudaExpression(mlir::Operation *op,
                           llvm::ArrayRef<std::string> operands);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_TEXT_CUDASCALAR_H
