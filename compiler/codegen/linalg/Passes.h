// The pass ait-lower-to-linalg, which turns the `ait` operations of kernel
// functions into linalg operations on tensors.
#ifndef AITUNE_COMPILER_CODEGEN_LINALG_PASSES_H
#define AITUNE_COMPILER_CODEGEN_LINALG_PASSES_H

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
#include "compiler/codegen/linalg/Passes.h.inc"

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_LINALG_PASSES_H
