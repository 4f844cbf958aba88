#include "compiler/codegen/contraction/ContractionAnalysis.h"
#include "compiler/codegen/contraction/Passes.h"
#include "compiler/dialect/KernelAttributes.h"

namespace aitune {
#define GEN_PASS_DEF_ANALYZECONTRACTIONS
#include "compiler/codegen/contraction/Passes.h.inc"
} // namespace aitune

using namespace mlir;

namespace {
struct AnalyzeContractions
    : aitune::impl::AnalyzeContractionsBase<AnalyzeContractions> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (kernel.isDeclaration() ||
        ait::getKernelKind(kernel).value_or(ait::KernelKind::Loop) ==
            ait::KernelKind::Loop)
      return;
    std::string reason;
    FailureOr<aitune::ContractionAnalysis> analysis =
        aitune::analyzeContraction(kernel, reason);
    if (failed(analysis)) {
      kernel.emitError() << reason;
      return signalPassFailure();
    }
    ait::setContractionAnalysis(kernel, aitune::toAttribute(*analysis));
  }
};
} // namespace
