#ifndef AITUNE_COMPILER_CODEGEN_LINALG_PASSES_TD
#define AITUNE_COMPILER_CODEGEN_LINALG_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToLinalgPass : Pass<"ait-lower-to-linalg", "::mlir::ModuleOp"> {
  let summary = "loop kernel functions: ait operations to linalg.generic on tensors";
  let description = [{
    Takes every func.func whose `ait.kind` is loop. Pointwise operations and
    reductions become linalg.generic, views become indexing maps or bodies that
    read with tensor.extract, sizes become arithmetic on `ait.symbol`. Other
    functions are left alone.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
  ];
}

#endif // AITUNE_COMPILER_CODEGEN_LINALG_PASSES_TD
