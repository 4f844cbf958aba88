// The passes that lower generated functions to the LLVM dialect.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LLVM_PASSES_H
#define AITUNE_COMPILER_CODEGEN_CPU_LLVM_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace aitune {

#define GEN_PASS_DECL
#include "compiler/codegen/cpu/llvm/Passes.h.inc"

/// Registers ait-cpu-expand-math and the pipeline ait-cpu-lower-to-llvm, for
/// aitune-opt.
void registerCpuLLVMPasses();

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_LLVM_PASSES_H
