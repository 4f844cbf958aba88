// The pass that shows what the compiler generates for a GPU.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_PASSES_TD
#define AITUNE_COMPILER_CODEGEN_GPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def GpuPrintCudaPass : Pass<"ait-gpu-print-cuda", "::mlir::ModuleOp"> {
  let summary = "prints the CUDA text of every kernel function";
  let description = [{
    Takes every func.func with the attribute `ait.kind`, in the form that
    generateCuda (Generate.h) takes. Prints the description, the launches and the
    text without the prelude of each of its candidates to the standard output.
    The module stays as it is. Fails, with a diagnostic at the function, for a
    kernel that has no candidate. With `compile` NVRTC also compiles every text
    for the target; this needs no GPU.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
  ];
  let options = [
    Option<"target", "target", "std::string", "\"sm_90\"",
           "the GPU: sm_80, sm_86, sm_89, sm_90, sm_100 or sm_120 (GpuTarget::named)">,
    Option<"compile", "compile", "bool", "false", "compile the texts by NVRTC (needs libnvrtc.so.13)">,
    Option<"most", "most", "int64_t", "0", "number of candidates of each kernel, from the first on; 0: all">,
    Option<"quiet", "quiet", "bool", "false", "print descriptions only, without launches and texts">,
    Option<"bundle", "bundle", "std::string", "\"\"",
           "folder for machine code and kernels.json, which compiler/codegen/gpu/testing/check_on_device.py reads">,
    Option<"symbolValue", "symbol", "int64_t", "3", "value of every symbol in the bundle, for sizes and grids">,
    Option<"allowTf32", "allow-tf32", "bool", "false", "contractions of f32 may round their operands to tf32">,
  ];
}

#endif // AITUNE_COMPILER_CODEGEN_GPU_PASSES_TD
