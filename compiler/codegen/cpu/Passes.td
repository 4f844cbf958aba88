#ifndef AITUNE_COMPILER_CODEGEN_CPU_PASSES_TD
#define AITUNE_COMPILER_CODEGEN_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def CpuLowerLoopsPass : Pass<"ait-cpu-lower-loops", "::mlir::ModuleOp"> {
  let summary = "loop kernel functions of linalg operations to vectorised ABI functions";
  let description = [{
    Takes every func.func whose `ait.kind` is "loop", in the form that
    ait-lower-to-linalg leaves, and replaces its signature and body by those of
    runtime/executable/kernel_abi.h, with the attributes `ait.grid` (an affine
    map from symbols to the number of work units) and `ait.grain` (i64: the
    fewest units worth a thread). Launches of the function must be gone or not
    verified any more.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"host\"", "Target::named's name for the CPU">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect",
  ];
}

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

#endif // AITUNE_COMPILER_CODEGEN_CPU_PASSES_TD
