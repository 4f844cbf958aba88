// TorchCudaGraphsBackend: LibTorch's operators as eager runs them, recorded as
// a CUDA graph for each set of sizes.
//
// It is the compiling backend with every operator left to LibTorch: versions,
// guards, and memory that graphs may keep are the same. What can't be recorded
// (operators that wait for the GPU or draw random numbers) runs in eager, and
// Notes says why. The versions share one copy of the weights on a GPU.
#include <memory>
#include <utility>

#include "frontend/backends/compiled/compiled_backend.h"
#include "frontend/backends/compiled/torch_inductor_config.h"
#include "frontend/backends/cudagraphs/cudagraphs_config.h"
#include "frontend/backends/torch_backend.h"
#include "runtime/backend/registry.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

constexpr char kName[] = "TorchCudaGraphsBackend";

absl::StatusOr<std::unique_ptr<Backend>> Create(const ConfigDict& dict) {
  AITUNE_ASSIGN_OR_RETURN(TorchCudaGraphsBackendConfig config,
                          TorchCudaGraphsBackendConfig::FromDict(dict));
  InductorOptions options;
  options.cudagraphs = true;
  options.libtorch_only = true;
  TorchInductorBackendConfig compiled;
  compiled.autocast_enabled = config.autocast_enabled;
  compiled.autocast_dtype = config.autocast_dtype;
  BackendTraits traits;
  traits.name = kName;
  traits.devices = {"cpu", "cuda"};
  traits.is_jit = true;
  auto implementation = MakeCompiledBackend(
      kName, config.Key(), std::move(compiled), std::move(options));
  return Backend::Create(
      std::move(traits),
      std::make_unique<TorchCudaGraphsBackendConfig>(std::move(config)),
      std::move(implementation));
}

// A CPU has no graphs to record, for which it would need the compiler.
absl::Status CheckDevice(const Device& device) {
  return device.is_gpu() ? CheckCompilesFor(device) : CheckTorchDevice(device);
}

[[maybe_unused]] const absl::Status registered = RegisterBackend(
    kName, {"Runs LibTorch's operators as CUDA graphs, recorded for each set "
            "of sizes; on a CPU as eager.",
            Create, CheckDevice});

}  // namespace
}  // namespace aitune::frontend
