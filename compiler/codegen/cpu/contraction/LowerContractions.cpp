#include "compiler/codegen/cpu/contraction/Passes.h"

#include "compiler/codegen/cpu/contraction/Templates.h"
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
      const std::optional<ait::KernelKind> kind = ait::getKernelKind(kernel);
      const auto contraction =
          kind ? aitune::getContractionTemplate(*kind) : std::nullopt;
      std::string reason;
      if (contraction && failed(contraction->lower(kernel, *cpu, reason))) {
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
