// What backends that compile have in common: all but their configuration.
#ifndef AITUNE_FRONTEND_BACKENDS_COMPILED_COMPILED_BACKEND_H_
#define AITUNE_FRONTEND_BACKENDS_COMPILED_COMPILED_BACKEND_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "frontend/backends/compiled/torch_inductor_config.h"
#include "runtime/backend/backend_implementation.h"
#include "runtime/device/device.h"

namespace aitune::frontend {

// Compiles by `config` and `options`, which stand for the configuration of the
// backend `name` with the key `key` (BackendConfig::Key).
std::unique_ptr<BackendImplementation> MakeCompiledBackend(
    std::string name, std::string key, TorchInductorBackendConfig config,
    InductorOptions options);

// BackendFactory::check_device of backends that compile: kUnimplemented in a
// program without the compiler; otherwise as CheckTorchDevice.
absl::Status CheckCompilesFor(const Device& device);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_COMPILED_COMPILED_BACKEND_H_
