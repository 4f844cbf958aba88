// The pass that generates code for loop kernels on a CPU.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LOOPS_PASSES_TD
#define AITUNE_COMPILER_CODEGEN_CPU_LOOPS_PASSES_TD

include "mlir/Pass/PassBase.td"

def CpuLowerLoopsPass : Pass<"ait-cpu-lower-loops", "::mlir::ModuleOp"> {
  let summary = "makes vectorised functions with the runtime's calling convention of loop kernels";
  let description = [{
    Takes every func.func whose `ait.kind` is loop, in the form that
    ait-lower-to-linalg leaves. Replaces its signature and body by those of
    runtime/cpu/kernel_abi.h, and sets the attributes `ait.grid` (an affine map
    from the symbols to the number of work units) and `ait.grain` (i64: the least
    number of units that are worth a thread). The module must not launch the
    function, since its signature changes. Fails, with a diagnostic at the
    operation, for what it has no code for.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"host\"",
           "the CPU: host, avx2, avx512, avx512bf16 or amx (Target::named)">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect",
  ];
}

#endif // AITUNE_COMPILER_CODEGEN_CPU_LOOPS_PASSES_TD
