// CUDA's spelling of types, constants and scalar operations.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_TEXT_CUDASCALAR_H
#define AITUNE_COMPILER_CODEGEN_GPU_TEXT_CUDASCALAR_H

#include <string>

#include "mlir/IR/Operation.h"

namespace aitune {

/// "float", "half", "long long", ...; "Index" for index. Signless integers are
/// signed. Empty for a type that kernels do not have.
std::string cudaType(mlir::Type type);

/// Bytes of an element in memory: bool is one byte.
int64_t cudaBytes(mlir::Type elementType);

/// A literal of the attribute's type (a FloatAttr or an IntegerAttr).
std::string cudaConstant(mlir::Attribute constant);

/// The expression that an operation of the arith or math dialect computes, of
/// operands that are names or literals. Operations of f16 and bf16 are computed
/// in float. Empty for an operation that has no spelling.
std::string cudaExpression(mlir::Operation *op,
                           llvm::ArrayRef<std::string> operands);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_TEXT_CUDASCALAR_H
