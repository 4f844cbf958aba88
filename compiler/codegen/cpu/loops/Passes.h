// The pass that generates loop kernels.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LOOPS_PASSES_H
#define AITUNE_COMPILER_CODEGEN_CPU_LOOPS_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace aitune {

#define GEN_PASS_DECL
#include "compiler/codegen/cpu/loops/Passes.h.inc"

/// Registers ait-cpu-lower-loops, for aitune-opt.
void registerCpuLoopPasses();

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_LOOPS_PASSES_H
