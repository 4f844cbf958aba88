// Makes kernel functions, and helpers for code that does.
#ifndef AITUNE_COMPILER_FUSION_KERNELFUNCTION_H
#define AITUNE_COMPILER_FUSION_KERNELFUNCTION_H

#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#include <string>

namespace aitune {

/// Makes a private function without a body at `builder`'s insertion point, with
/// the attributes of a kernel of `kind` with the default schedule.
mlir::func::FuncOp createKernelFunction(mlir::OpBuilder &builder,
                                        mlir::Location location,
                                        llvm::StringRef name,
                                        mlir::FunctionType type,
                                        mlir::ait::KernelKind kind);

/// The TorchScript source that a location refers to, as "model.py:12"; empty if
/// it refers to none.
std::string describeSource(mlir::Location location);

/// The submodule that the importer gave a location, as "encoder.layer.3"; empty
/// for the model itself, and if there is none.
std::string describeScope(mlir::Location location);

/// An estimate of the bytes of a tensor of `type`; each dynamic size counts as
/// 128 elements.
double estimateBytes(mlir::RankedTensorType type);

} // namespace aitune

#endif // AITUNE_COMPILER_FUSION_KERNELFUNCTION_H
