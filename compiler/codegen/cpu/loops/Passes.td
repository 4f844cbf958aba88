#ifndef AITUNE_COMPILER_CODEGEN_CPU_LOOPS_PASSES_TD
#define AITUNE_COMPILER_CODEGEN_CPU_LOOPS_PASSES_TD

include "mlir/Pass/PassBase.td"

def CpuLowerLoopsPass : Pass<"ait-cpu-lower-loops", "::mlir::ModuleOp"> {
  let summary = "loop kernel functions of linalg operations to vectorised ABI functions";
  let description = [{
    Takes every func.func whose `ait.kind` is loop, in the form that
    ait-lower-to-linalg leaves, and replaces its signature and body by those of
    runtime/cpu/kernel_abi.h, with the attributes `ait.grid` (an affine
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

#endif // AITUNE_COMPILER_CODEGEN_CPU_LOOPS_PASSES_TD
