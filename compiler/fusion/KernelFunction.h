// What makes a function a kernel, for all that write one.
#ifndef AITUNE_COMPILER_FUSION_KERNELFUNCTION_H
#define AITUNE_COMPILER_FUSION_KERNELFUNCTION_H

#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#include <string>

namespace aitune {

/// A private function without a body at `builder`'s insertion point: a kernel
/// of `kind` that code is generated for with the default schedule.
mlir::func::FuncOp createKernelFunction(mlir::OpBuilder &builder,
                                        mlir::Location location,
                                        llvm::StringRef name,
                                        mlir::FunctionType type,
                                        mlir::ait::KernelKind kind);

/// The TorchScript source that a location is of, as "model.py:12"; empty if it
/// names none.
std::string describeSource(mlir::Location location);

/// Bytes of a tensor of `type`, a dynamic size being what the others are like.
double estimateBytes(mlir::RankedTensorType type);

} // namespace aitune

#endif // AITUNE_COMPILER_FUSION_KERNELFUNCTION_H
