// The pass that generates code for kernels of contractions on a CPU.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_PASSES_TD
#define AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_PASSES_TD

include "mlir/Pass/PassBase.td"

def CpuLowerContractionsPass : Pass<"ait-cpu-lower-contractions", "::mlir::ModuleOp"> {
  let summary = "makes functions with the runtime's calling convention of the kernels of contractions";
  let description = [{
    Takes every func.func whose `ait.kind` is that of a contraction, not a loop.
    Replaces its signature and body by those of runtime/cpu/kernel_abi.h, and
    sets the attributes `ait.grid` (an affine map from the symbols to the number
    of work units), `ait.grain` (i64: the least number of units that are worth a
    thread) and `ait.packings` (an #ait.packing for each argument that must be
    packed at load; only arguments with the attribute `ait.constant` are). The
    schedule is that of `ait.config`; parameters that are missing there are
    chosen, and `ait.config` has all of them afterwards. Fails, with the reason
    as a diagnostic at the function, for kernels that it has no code for.
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

#endif // AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_PASSES_TD
