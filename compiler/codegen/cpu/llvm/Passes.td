// The passes that keep LLVM from seeing what it has no code, or no value, for.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LLVM_PASSES_TD
#define AITUNE_COMPILER_CODEGEN_CPU_LLVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def CpuExpandMathPass : Pass<"ait-cpu-expand-math"> {
  let summary = "replaces functions of the math dialect by arithmetic or by calls of libmvec and libm";
  let description = [{
    exp, exp2, expm1, log, log2, log10, log1p, tanh and erf of f32 become
    arithmetic on vectors (MathApproximations.h says how exact it is). These
    functions of f64 and the other functions of f32 and f64 become calls of
    libmvec with vectors of up to vector-math-bits bits; scalars, and all of them
    without vector-math-bits, become calls of libm, one for each lane.
    Remainders become arithmetic, with calls of libm where a quotient is too
    large for it. Also replaces arith.maximumf and arith.minimumf by comparisons, which do not order zeros,
    and, without has-bfloat16, conversions of f32 to bf16 by arithmetic on bits.
    Fails for other element types.
  }];
  let options = [
    Option<"hasBfloat16", "has-bfloat16", "bool", "false", "the CPU rounds f32 to bf16 in one instruction">,
    Option<"hasScale", "has-scale", "bool", "false", "the CPU multiplies vectors of f32 by powers of two in one instruction">,
    Option<"vectorMathBits", "vector-math-bits", "int64_t", "0", "the bits of the registers that libmvec may compute at once; 0: no libmvec">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::scf::SCFDialect",
  ];
}

def CpuDefineConversionsPass : Pass<"ait-cpu-define-conversions"> {
  let summary = "gives conversions of floats to signed integers the CPU's value where they have none";
  let description = [{
    To LLVM, arith.fptosi of NaN or of a number beyond the integer's range is
    poison, so that it takes 0 * x, which is 0 or NaN, for 0 as an integer. The
    instructions of x86, and so LibTorch, give the least integer, as this pass
    does by a selection.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def CpuFreezeConversionsPass : Pass<"ait-cpu-freeze-conversions"> {
  let summary = "gives conversions of floats to integers some value where they have none";
  let description = [{
    To LLVM, llvm.fptosi and llvm.fptoui of NaN or of a number beyond the
    integer's range are poison, and so is all that is computed from them, to
    the store of a result, which it then leaves out where it knows the operand.
    An instruction gives some integer. This pass puts llvm.freeze behind each,
    so that LLVM may choose any integer, but one: approximations like that of
    expm1, which multiply NaN by what they make of the integer, give NaN.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // AITUNE_COMPILER_CODEGEN_CPU_LLVM_PASSES_TD
