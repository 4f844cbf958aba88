// The passes that cut a graph into kernels.
#ifndef AITUNE_COMPILER_FUSION_PASSES_TD
#define AITUNE_COMPILER_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def FormKernels : Pass<"ait-form-kernels", "mlir::func::FuncOp"> {
  let summary = "groups operations into ait.kernel regions, so that values between them never reach memory";
  let description = [{
    Contractions take the pointwise operations after them as an epilogue; what
    is left is grouped into loops. Afterwards the function holds constants,
    kernels, reshapes, fallbacks and launches only.
  }];
  let dependentDialects = ["mlir::ait::AitDialect"];
  let options = [
    Option<"explain", "explain", "bool", "false",
           "emit a remark with the reason for each two neighbours that were not fused">,
  ];
}

def OutlineKernels : Pass<"ait-outline-kernels", "mlir::ModuleOp"> {
  let summary = "turns ait.kernel regions into functions, so that identical ones compile once";
  let description = [{
    Each ait.kernel of @main becomes a private func.func with the attributes
    ait.kind and ait.config, and an ait.launch of it.
    Kernels with equal bodies (locations aside) share one function. The
    function is named after its costly operations, such as matmul_gelu_0.
  }];
  let dependentDialects = ["mlir::ait::AitDialect", "mlir::func::FuncDialect"];
}

#endif // AITUNE_COMPILER_FUSION_PASSES_TD
