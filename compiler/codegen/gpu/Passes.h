// The pass ait-gpu-print-cuda, for tests and for reading generated CUDA text.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_PASSES_H
#define AITUNE_COMPILER_CODEGEN_GPU_PASSES_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"

namespace aitune {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/codegen/gpu/Passes.h.inc"

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_PASSES_H
