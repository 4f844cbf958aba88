// Follows what is made of a value, through the generics of a kernel: what is
// computed of it at last says which form it may have.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_TEXT_FOLLOWUSES_H
#define AITUNE_COMPILER_CODEGEN_GPU_TEXT_FOLLOWUSES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace aitune {

/// The same element behind `use`: the argument of an elementwise
/// linalg.generic's body that reads it, or the generic's result of which it is
/// an element. Null for other uses.
mlir::Value followGeneric(mlir::OpOperand &use);

/// Whether all that is made of `op` ends in uses for which `isEnd` holds. Of
/// others `follow` gives the value to go on with; null: it ends there, too.
/// Takes time in proportion to the operations that it meets.
bool allUsesEnd(mlir::Operation *op,
                llvm::function_ref<bool(mlir::OpOperand &)> isEnd,
                llvm::function_ref<mlir::Value(mlir::OpOperand &)> follow);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_TEXT_FOLLOWUSES_H
