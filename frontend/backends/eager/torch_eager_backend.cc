// TorchEagerBackend: the model as LibTorch runs it, operator by operator.
#include <ATen/core/ivalue.h>

#include "frontend/backends/eager/torch_eager_config.h"
#include "frontend/backends/torch_backend.h"
#include "runtime/backend/registry.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

constexpr char kName[] = "TorchEagerBackend";

class TorchEager : public TorchBackend {
 public:
  explicit TorchEager(const TorchEagerBackendConfig& config)
      : TorchBackend(config.autocast_enabled, config.autocast_dtype) {}

 protected:
  absl::Status Prepare(BuildContext*) override { return absl::OkStatus(); }
  void Release() override {}
  absl::StatusOr<std::vector<OwnedValue>> Run(
      absl::Span<const RegionValue> inputs) const override {
    return source()->Call(inputs, model(), device(),
                          [&](const ValueList& arguments) {
                            return model()->RunEager(arguments);
                          });
  }
};

absl::StatusOr<std::unique_ptr<Backend>> Create(const ConfigDict& dict) {
  AITUNE_ASSIGN_OR_RETURN(TorchEagerBackendConfig config,
                          TorchEagerBackendConfig::FromDict(dict));
  BackendTraits traits;
  traits.name = kName;
  traits.devices = {"cpu", "cuda"};
  auto implementation = std::make_unique<TorchEager>(config);
  return Backend::Create(
      std::move(traits),
      std::make_unique<TorchEagerBackendConfig>(std::move(config)),
      std::move(implementation));
}

[[maybe_unused]] const absl::Status registered = RegisterBackend(
    kName, {"Runs the model as LibTorch does, operator by operator.", Create,
            CheckTorchDevice});

}  // namespace
}  // namespace aitune::frontend
