// The passes that cut a graph into kernels.
#ifndef AITUNE_COMPILER_FUSION_PASSES_TD
#define AITUNE_COMPILER_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def FormKernels : Pass<"ait-form-kernels", "mlir::func::FuncOp"> {
  let summary = "groups operations into ait.kernel regions, so that values between them never reach memory";
  let description = [{
    Each contraction takes the pointwise operations after it as its epilogue;
    the operations that are left are grouped into loops. What is cheap to
    compute again, such as fills and broadcasts, is copied into each kernel that
    reads it, and the original may stay behind without a reader. Otherwise the
    function then has only constants, kernels, reshapes, fallbacks, launches and
    slices that are one run of the memory of an input or of what a kernel computes.
  }];
  let dependentDialects = ["mlir::ait::AitDialect"];
  let options = [
    Option<"explain", "explain", "bool", "false",
           "emit a remark with the reason for each pair of neighbours that is not fused">,
  ];
}

def OutlineKernels : Pass<"ait-outline-kernels", "mlir::ModuleOp"> {
  let summary = "turns ait.kernel regions into functions, so that identical ones compile once";
  let description = [{
    Each ait.kernel becomes a private func.func with the attributes `ait.kind` and
    `ait.config` (empty), and an ait.launch of it. Kernels whose bodies are equal
    but for their locations share one function. The function is named after its
    costly operations and a number, such as matmul_gelu_0. Each ait.check gets its
    `number`, and each launch the locations of its checks.
  }];
  let dependentDialects = ["mlir::ait::AitDialect", "mlir::func::FuncDialect"];
}

#endif // AITUNE_COMPILER_FUSION_PASSES_TD
