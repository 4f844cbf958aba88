#include "compiler/codegen/cpu/loops/LoopKernel.h"
#include "compiler/codegen/cpu/loops/Passes.h"
#include "compiler/codegen/cpu/target/Target.h"
#include "compiler/dialect/KernelAttributes.h"

using namespace mlir;

namespace aitune {

#define GEN_PASS_DEF_CPULOWERLOOPSPASS
#include "compiler/codegen/cpu/loops/Passes.h.inc"

namespace {

struct CpuLowerLoopsPass : impl::CpuLowerLoopsPassBase<CpuLowerLoopsPass> {
  using CpuLowerLoopsPassBase::CpuLowerLoopsPassBase;

  void runOnOperation() override {
    FailureOr<Target> cpu = Target::named(target);
    if (failed(cpu)) {
      getOperation().emitError()
          << "unknown target \"" << target
          << "\"; known are host, avx2, avx512, avx512bf16 and amx";
      return signalPassFailure();
    }
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (mlir::ait::getKernelKind(function) != mlir::ait::KernelKind::Loop ||
          function.isDeclaration())
        continue;
      if (failed(lowerLoopKernel(function, *cpu)))
        return signalPassFailure();
    }
  }
};

} // namespace

#define GEN_PASS_REGISTRATION
#include "compiler/codegen/cpu/loops/Passes.h.inc"

void registerCpuLoopPasses() { registerCodegenCpuLoopPasses(); }

} // namespace aitune
