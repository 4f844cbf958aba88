#include "compiler/codegen/cpu/llvm/LowerToLLVM.h"
#include "compiler/codegen/cpu/llvm/Passes.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace aitune {

#define GEN_PASS_REGISTRATION
#include "compiler/codegen/cpu/llvm/Passes.h.inc"

namespace {

struct LoweringOptions : PassPipelineOptions<LoweringOptions> {
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("Target::named's name for the CPU"),
                             llvm::cl::init("host")};
};

} // namespace

void registerCpuLLVMPasses() {
  registerCodegenCpuLLVMPasses();
  PassPipelineRegistration<LoweringOptions>(
      "ait-cpu-lower-to-llvm", "ABI functions to the LLVM dialect",
      [](OpPassManager &passManager, const LoweringOptions &options) {
        FailureOr<Target> target = Target::named(options.target);
        buildLowerToLLVMPipeline(passManager,
                                 succeeded(target) ? *target : Target::host());
      });
}

} // namespace aitune
