// The pass over kernels of contractions that is the same for all devices.
#ifndef AITUNE_COMPILER_CODEGEN_CONTRACTION_PASSES_TD
#define AITUNE_COMPILER_CODEGEN_CONTRACTION_PASSES_TD

include "mlir/Pass/PassBase.td"

def AnalyzeContractions : Pass<"ait-analyze-contractions", "::mlir::func::FuncOp"> {
  let summary = "finds where the operands of each kernel's contraction lie in the kernel's arguments";
  let description = [{
    Sets `ait.contraction`, an #ait.contraction, of every func.func whose
    `ait.kind` is not loop. The code generators of all devices read it
    (ContractionAnalysis.h). Fails, with a diagnostic at the function, for a
    kernel that does not have exactly one contraction.
  }];
  let dependentDialects = ["::mlir::ait::AitDialect"];
}

#endif // AITUNE_COMPILER_CODEGEN_CONTRACTION_PASSES_TD
