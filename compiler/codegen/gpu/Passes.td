#ifndef AITUNE_COMPILER_CODEGEN_GPU_PASSES_TD
#define AITUNE_COMPILER_CODEGEN_GPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def GpuPrintCudaPass : Pass<"ait-gpu-print-cuda", "::mlir::ModuleOp"> {
  let summary = "prints the CUDA text of every kernel function";
  let description = [{
    Takes every func.func with the attribute `ait.kind`, in the form that
    generateCuda takes, and prints to the standard output the candidates'
    descriptions, their launches and their texts without the prelude. Reports why
    a kernel has none. The module is not changed. With `compile`, every text is
    compiled by NVRTC for the target too.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
  ];
  let options = [
    Option<"target", "target", "std::string", "\"sm_90\"", "GpuTarget::named's name for the GPU">,
    Option<"compile", "compile", "bool", "false", "compile the texts (needs libnvrtc.so.13)">,
    Option<"most", "most", "int64_t", "0", "candidates of a kernel to take, the first ones; 0: all">,
    Option<"quiet", "quiet", "bool", "false", "print descriptions alone">,
    Option<"bundle", "bundle", "std::string", "\"\"", "folder for machine code and kernels.json, for testing/check_on_device.py">,
    Option<"symbolValue", "symbol", "int64_t", "3", "the value of every symbol, for the bundle's grids">,
    Option<"allowTf32", "allow-tf32", "bool", "false", "contractions of f32 may round operands to tf32">,
  ];
}

#endif // AITUNE_COMPILER_CODEGEN_GPU_PASSES_TD
