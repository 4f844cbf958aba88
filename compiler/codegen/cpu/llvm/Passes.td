#ifndef AITUNE_COMPILER_CODEGEN_CPU_LLVM_PASSES_TD
#define AITUNE_COMPILER_CODEGEN_CPU_LLVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def CpuExpandMathPass : Pass<"ait-cpu-expand-math"> {
  let summary = "math functions to vector arithmetic (f32) or libm calls (others)";
  let description = [{
    Own approximations, within a few units in the last place over the full
    range, NaN, infinities and denormals included.
  }];
  let options = [
    Option<"hasBfloat16", "has-bfloat16", "bool", "false", "the CPU rounds f32 to bf16 in one instruction">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect",
  ];
}

#endif // AITUNE_COMPILER_CODEGEN_CPU_LLVM_PASSES_TD
