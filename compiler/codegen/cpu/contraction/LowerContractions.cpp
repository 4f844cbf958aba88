#include "compiler/codegen/cpu/contraction/Passes.h"

#include "compiler/codegen/cpu/contraction/Attention.h"
#include "compiler/codegen/cpu/contraction/Convolution.h"
#include "compiler/codegen/cpu/contraction/Matmul.h"
#include "mlir/IR/BuiltinOps.h"

namespace aitune {
#define GEN_PASS_DEF_CPULOWERCONTRACTIONSPASS
#include "compiler/codegen/cpu/contraction/Passes.h.inc"
} // namespace aitune

using namespace mlir;

namespace {

struct CpuLowerContractions
    : aitune::impl::CpuLowerContractionsPassBase<CpuLowerContractions> {
  using CpuLowerContractionsPassBase::CpuLowerContractionsPassBase;

  void runOnOperation() override {
    FailureOr<aitune::Target> cpu = aitune::Target::named(target);
    if (failed(cpu)) {
      getOperation().emitError() << "unknown target '" << target << "'";
      return signalPassFailure();
    }
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      auto kind = kernel->getAttrOfType<StringAttr>("ait.kind");
      if (!kind)
        continue;
      std::string reason;
      LogicalResult lowered = success();
      if (kind.getValue() == "matmul")
        lowered = aitune::lowerMatmul(kernel, *cpu, reason);
      else if (kind.getValue() == "convolution")
        lowered = aitune::lowerConvolution(kernel, *cpu, reason);
      else if (kind.getValue() == "attention")
        lowered = aitune::lowerAttention(kernel, *cpu, reason);
      if (failed(lowered)) {
        kernel.emitError() << reason;
        return signalPassFailure();
      }
    }
  }
};

} // namespace

void aitune::registerCpuContractionPasses() {
  registerPass([] { return createCpuLowerContractionsPass(); });
}
