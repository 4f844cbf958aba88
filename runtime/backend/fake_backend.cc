#include "runtime/backend/fake_backend.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "runtime/backend/config_reader.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

absl::StatusOr<std::vector<OwnedValue>> Double(
    absl::Span<const RegionValue> inputs) {
  std::vector<OwnedValue> outputs;
  for (const RegionValue& input : inputs) {
    std::vector<float> values = Elements(input);
    for (float& value : values) value *= 2;
    outputs.push_back(
        MakeTensor(std::get<TensorView>(input).sizes, std::move(values)));
  }
  return outputs;
}

class FakeImplementation : public BackendImplementation {
 public:
  explicit FakeImplementation(std::shared_ptr<FakeBehavior> behavior)
      : behavior_(std::move(behavior)) {}

  absl::Status Build(BuildContext& context) override {
    ++behavior_->builds;
    ++behavior_->compiles;
    return Change(
        [&] {
          return behavior_->build ? behavior_->build(context)
                                  : absl::OkStatus();
        },
        true);
  }
  absl::Status Activate(const Device&) override {
    ++behavior_->activations;
    return Change(behavior_->activate, true);
  }
  absl::Status Deactivate() override {
    ++behavior_->deactivations;
    return Change(behavior_->deactivate, false);
  }
  absl::Status Deploy(const Device&) override {
    ++behavior_->deployments;
    return Change(behavior_->deploy, true);
  }
  absl::StatusOr<std::vector<OwnedValue>> Infer(
      absl::Span<const RegionValue> inputs) const override {
    ++behavior_->infers;
    ++behavior_->infers_inside;
    if (!behavior_->holds_memory) ++behavior_->overlaps;
    auto result = behavior_->infer ? behavior_->infer(inputs) : Double(inputs);
    if (!behavior_->holds_memory) ++behavior_->overlaps;
    --behavior_->infers_inside;
    return result;
  }
  absl::Status TakeFailedCheck() const override {
    return behavior_->take_failed_check ? behavior_->take_failed_check()
                                        : absl::OkStatus();
  }
  absl::Status Save(BackendStateProto* state) const override {
    if (behavior_->save) behavior_->save();
    state->set_implementation("artifact");
    return absl::OkStatus();
  }
  absl::Status Load(std::shared_ptr<SourceModel>,
                    const BackendStateProto& state) override {
    ++behavior_->loads;
    if (state.implementation() != "artifact")
      return absl::DataLossError("the artifact is missing");
    return behavior_->load ? behavior_->load() : absl::OkStatus();
  }

 private:
  absl::Status Change(const std::function<absl::Status()>& f,
                      bool holds_memory) {
    if (behavior_->infers_inside > 0) ++behavior_->overlaps;
    absl::Status status = f ? f() : absl::OkStatus();
    if (behavior_->infers_inside > 0) ++behavior_->overlaps;
    if (status.ok()) behavior_->holds_memory = holds_memory;
    return status;
  }

  const std::shared_ptr<FakeBehavior> behavior_;
};

}  // namespace

OwnedValue MakeTensor(std::vector<int64_t> sizes, std::vector<float> values) {
  auto memory = std::make_shared<std::vector<float>>(std::move(values));
  TensorView view{memory->data(), DataType::kFloat32, std::move(sizes)};
  return {RegionValue(std::move(view)), std::move(memory)};
}

std::vector<float> Elements(const RegionValue& value) {
  const TensorView& view = std::get<TensorView>(value);
  const auto* data = static_cast<const float*>(view.data);
  return std::vector<float>(data, data + ElementCount(view.sizes));
}

absl::StatusOr<std::vector<OwnedValue>> FakeModel::Infer(
    absl::Span<const RegionValue> inputs) {
  ++calls;
  return Double(inputs);
}

ConfigDict FakeBackendConfig::ToDict() const {
  return {{"fullgraph", fullgraph},
          {"mode", mode.has_value() ? ConfigValue(*mode) : ConfigValue()}};
}

ConfigDict FakeBackendConfig::DefaultDict() const {
  return FakeBackendConfig().ToDict();
}

absl::Status FakeBackendConfig::Validate() const {
  if (!mode.has_value() || *mode == "max-autotune") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Invalid mode: ", *mode, ". It must be max-autotune."));
}

absl::StatusOr<FakeBackendConfig> FakeBackendConfig::FromDict(
    const ConfigDict& dict) {
  FakeBackendConfig config;
  ConfigReader reader("FakeBackendConfig", dict);
  reader.Read("fullgraph", &config.fullgraph);
  reader.Read("mode", &config.mode);
  AITUNE_RETURN_IF_ERROR(reader.Finish());
  AITUNE_RETURN_IF_ERROR(config.Validate());
  return config;
}

std::unique_ptr<BackendImplementation> MakeFakeImplementation(
    std::shared_ptr<FakeBehavior> behavior) {
  return std::make_unique<FakeImplementation>(std::move(behavior));
}

std::unique_ptr<Backend> MakeFakeBackend(std::shared_ptr<FakeBehavior> behavior,
                                         FakeBackendConfig config) {
  BackendTraits traits;
  traits.name = "TorchInductorBackend";
  traits.is_jit = true;
  traits.devices = {"cpu", "cuda"};
  auto backend = Backend::Create(
      std::move(traits), std::make_unique<FakeBackendConfig>(std::move(config)),
      MakeFakeImplementation(std::move(behavior)));
  if (!backend.ok()) std::abort();
  return *std::move(backend);
}

std::unique_ptr<Backend> MakeFakeBackend(
    std::string name, std::shared_ptr<FakeBehavior> behavior) {
  BackendTraits traits;
  traits.name = std::move(name);
  auto backend =
      Backend::Create(std::move(traits), std::make_unique<FakeBackendConfig>(),
                      MakeFakeImplementation(std::move(behavior)));
  if (!backend.ok()) std::abort();
  return *std::move(backend);
}

BuildRequest MakeFakeRequest(int samples) {
  BuildRequest request;
  request.model = std::make_shared<FakeModel>();
  for (int i = 0; i < samples; ++i)
    request.samples.push_back(
        {MakeTensor({i + 1, 2}, std::vector<float>(2 * (i + 1), 1.5f))});
  return request;
}

}  // namespace aitune
