// The passes over kernels of contractions that no device decides.
#ifndef AITUNE_COMPILER_CODEGEN_CONTRACTION_PASSES_TD
#define AITUNE_COMPILER_CODEGEN_CONTRACTION_PASSES_TD

include "mlir/Pass/PassBase.td"

def AnalyzeContractions : Pass<"ait-analyze-contractions", "::mlir::func::FuncOp"> {
  let summary = "writes on each kernel how its contraction sees its operands";
  let description = [{
    Sets `ait.contraction` of every kernel whose `ait.kind` is not loop, to
    #ait.contraction, which the generators of all devices read
    (ContractionAnalysis.h). Fails for kernels that do not have exactly one
    contraction.
  }];
  let dependentDialects = ["::mlir::ait::AitDialect"];
}

#endif // AITUNE_COMPILER_CODEGEN_CONTRACTION_PASSES_TD
