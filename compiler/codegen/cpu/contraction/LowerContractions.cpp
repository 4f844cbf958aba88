#include "compiler/codegen/cpu/contraction/Passes.h"

#include "compiler/codegen/cpu/contraction/Attention.h"
#include "compiler/codegen/cpu/contraction/Convolution.h"
#include "compiler/codegen/cpu/contraction/Matmul.h"
#include "compiler/dialect/KernelAttributes.h"
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
      getOperation().emitError()
          << "unknown target \"" << target
          << "\"; known are host, avx2, avx512, avx512bf16 and amx";
      return signalPassFailure();
    }
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      std::string reason;
      LogicalResult lowered = success();
      switch (ait::getKernelKind(kernel).value_or(ait::KernelKind::Loop)) {
      case ait::KernelKind::Loop:
        break;
      case ait::KernelKind::Matmul:
        lowered = aitune::lowerMatmul(kernel, *cpu, reason);
        break;
      case ait::KernelKind::Convolution:
        lowered = aitune::lowerConvolution(kernel, *cpu, reason);
        break;
      case ait::KernelKind::Attention:
        lowered = aitune::lowerAttention(kernel, *cpu, reason);
        break;
      }
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
