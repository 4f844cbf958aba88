#ifndef AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_PASSES_TD
#define AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_PASSES_TD

include "mlir/Pass/PassBase.td"

def CpuLowerContractionsPass : Pass<"ait-cpu-lower-contractions", "::mlir::ModuleOp"> {
  let summary = "matmul, convolution and attention kernel functions to ABI functions around a microkernel";
  let description = [{
    Takes every func.func whose `ait.kind` is matmul, convolution or
    attention and replaces it by a function of runtime/cpu/kernel_abi.h,
    with the attributes `ait.grid` (an affine map from symbols to the number of
    work units), `ait.grain` (i64: the fewest units worth a thread) and
    `ait.packings` (one dictionary an argument that must be packed at load:
    `argument`, `kind`, `block_n`, `transposed`). Arguments that are constants
    carry the attribute `ait.constant`. The schedule comes from `ait.config`;
    what that does not set is chosen, and `ait.config` then holds all of it.
    Fails, with the reason as a diagnostic at the function, for kernels that
    have no generated implementation.
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

#endif // AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_PASSES_TD
