// TorchScriptBackend: the model as LibTorch's own optimiser runs it.
#include <ATen/core/ivalue.h>

#include "frontend/backends/call_leaves.h"
#include "frontend/backends/torch_backend.h"
#include "frontend/backends/torchscript/torch_script_config.h"
#include "frontend/torchscript/optimized_program.h"
#include "runtime/backend/registry.h"
#include "runtime/control/control.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

constexpr char kName[] = "TorchScriptBackend";

class TorchScript : public TorchBackend {
 public:
  explicit TorchScript(const TorchScriptBackendConfig& config)
      : TorchBackend(config.autocast_enabled, config.autocast_dtype),
        options_{config.freeze, config.optimize_for_inference} {}

 protected:
  absl::Status Prepare(BuildContext*) override {
    AITUNE_ASSIGN_OR_RETURN(program_,
                            OptimizedProgram::Make(*model(), options_));
    return absl::OkStatus();
  }
  void Release() override { program_ = nullptr; }
  absl::StatusOr<std::vector<OwnedValue>> Run(
      absl::Span<const RegionValue> inputs) const override {
    // The optimiser does not tell when it compiles, so that the other stances
    // have nothing to decide.
    const bool is_eager =
        IsWholeCall(inputs) || CurrentStance() == Stance::kForceEager;
    return source()->Call(inputs, model(), device(),
                          [&](const ValueList& arguments) {
                            return is_eager ? model()->RunEager(arguments)
                                            : program_->Run(arguments);
                          });
  }

 private:
  const OptimizedProgramOptions options_;
  std::unique_ptr<OptimizedProgram> program_;
};

absl::StatusOr<std::unique_ptr<Backend>> Create(const ConfigDict& dict) {
  AITUNE_ASSIGN_OR_RETURN(TorchScriptBackendConfig config,
                          TorchScriptBackendConfig::FromDict(dict));
  BackendTraits traits;
  traits.name = kName;
  traits.devices = {"cpu", "cuda"};
  traits.is_jit = true;
  auto implementation = std::make_unique<TorchScript>(config);
  return Backend::Create(
      std::move(traits),
      std::make_unique<TorchScriptBackendConfig>(std::move(config)),
      std::move(implementation));
}

[[maybe_unused]] const absl::Status registered = RegisterBackend(
    kName, {"Runs the model with LibTorch's own TorchScript optimiser.", Create,
            CheckTorchDevice});

}  // namespace
}  // namespace aitune::frontend
