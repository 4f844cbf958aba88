// From kernel functions to ABI functions for CPUs: one pass a kernel family.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_PASSES_H
#define AITUNE_COMPILER_CODEGEN_CPU_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace aitune {

#define GEN_PASS_DECL
#include "compiler/codegen/cpu/Passes.h.inc"

/// Registers the passes of this folder except those of the contraction
/// families, which register themselves.
void registerCodegenCpuPasses();

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_PASSES_H
