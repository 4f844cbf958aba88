#include "compiler/pipelines/RegisterPipelines.h"

#include "compiler/pipelines/Pipelines.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace aitune {
namespace {

struct TransformArguments : PassPipelineOptions<TransformArguments> {
  Option<bool> onCuda{*this, "cuda",
                      llvm::cl::desc("for a GPU instead of the CPU"),
                      llvm::cl::init(false)};
  Option<bool> uncheckedIndices{
      *this, "unchecked-indices",
      llvm::cl::desc("limit indices out of range without an error"),
      llvm::cl::init(false)};
};

struct LinalgArguments : PassPipelineOptions<LinalgArguments> {
  Option<bool> emulateEagerCasts{
      *this, "emulate-eager-casts",
      llvm::cl::desc("round after every operation as eager does"),
      llvm::cl::init(false)};
};

struct LoopArguments : PassPipelineOptions<LoopArguments> {
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("Target::named's name for the CPU"),
                             llvm::cl::init("host")};
};

} // namespace

void registerPipelines() {
  PassPipelineRegistration<TransformArguments>(
      "ait-transforms", "an imported module, simplified (phase 1)",
      [](OpPassManager &passManager, const TransformArguments &arguments) {
        TransformOptions options;
        if (arguments.onCuda)
          options.device = DeviceFacts::ofGpu();
        options.uncheckedIndices = arguments.uncheckedIndices;
        buildTransformPipeline(passManager, options);
      });
  PassPipelineRegistration<>("ait-fusion",
                             "the graph cut into kernel functions (phase 2)",
                             [](OpPassManager &passManager) {
                               buildFusionPipeline(passManager, nullptr);
                             });
  PassPipelineRegistration<LinalgArguments>(
      "ait-kernel-to-linalg",
      "kernel functions, arithmetic types decided, loops as linalg (phase 3)",
      [](OpPassManager &passManager, const LinalgArguments &arguments) {
        buildKernelToLinalgPipeline(passManager, arguments.emulateEagerCasts);
      });
  PassPipelineRegistration<LoopArguments>(
      "ait-kernel-to-loops",
      "kernel functions as vectorised code for the CPU (phase 4)",
      [](OpPassManager &passManager, const LoopArguments &arguments) {
        buildKernelToLoopsPipeline(passManager, arguments.target);
      });
}

} // namespace aitune
