// The pass that writes loop kernels in the form that the loop compilers of both
// devices read (compiler/codegen/loops/README.md).
#ifndef AITUNE_COMPILER_CODEGEN_LINALG_PASSES_TD
#define AITUNE_COMPILER_CODEGEN_LINALG_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToLinalgPass : Pass<"ait-lower-to-linalg", "::mlir::ModuleOp"> {
  let summary = "writes loop kernels as linalg.generic operations on tensors";
  let description = [{
    Takes every func.func whose `ait.kind` is loop; other functions stay as they
    are. Pointwise operations, reductions and pools become linalg.generic; views
    and data movement become indexing maps or bodies that read with
    tensor.extract; sizes become arithmetic on ait.symbol; checks become
    ait.report, and the function gets `ait.checks`. Fails, with a diagnostic at
    the operation, for an operation or an element type that has no such form.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
  ];
}

#endif // AITUNE_COMPILER_CODEGEN_LINALG_PASSES_TD
