#include "runtime/backend/backend.h"

#include <algorithm>
#include <exception>
#include <new>
#include <shared_mutex>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/backend/config_proto.h"
#include "runtime/logging/logging.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

constexpr char kNoDevice[] =
    "Device is not set. Please set the device before deploying.";

template <typename... Parts>
absl::Status NotAllowed(const Parts&... parts) {
  return absl::FailedPreconditionError(absl::StrCat(parts...));
}

// Calls `f`; an exception becomes an error of `what` of the backend `name`.
template <typename F>
auto Guarded(const std::string& name, const char* what, F f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat("Backend ", name, " ", what, ": out of memory"));
  } catch (const std::exception& e) {
    // LibTorch's allocator throws nothing of a type of its own.
    const bool no_memory = absl::StrContains(e.what(), "can't allocate memory");
    return absl::Status(
        no_memory ? absl::StatusCode::kResourceExhausted
                  : absl::StatusCode::kInternal,
        absl::StrCat("Backend ", name, " ", what, " raised: ", e.what()));
  } catch (...) {
    return absl::InternalError(
        absl::StrCat("Backend ", name, " ", what,
                     " threw an object that is not a std::exception"));
  }
}

}  // namespace

std::string_view Name(BackendState state) {
  switch (state) {
    case BackendState::kInit:
      return "INIT";
    case BackendState::kActive:
      return "ACTIVE";
    case BackendState::kInactive:
      return "INACTIVE";
    case BackendState::kCheckpointLoaded:
      return "CHECKPOINT_LOADED";
    case BackendState::kDeployed:
      return "DEPLOYED";
  }
  return "?";
}

absl::StatusOr<std::vector<OwnedValue>> BuildContext::CallSample(int index) {
  if (index < 0 || index >= static_cast<int>(called_.size()))
    return absl::OutOfRangeError(
        absl::StrCat("there is no sample ", index, ", only ", called_.size()));
  if (called_[index])
    return absl::FailedPreconditionError(
        absl::StrCat("sample ", index,
                     " was called already: a build calls each sample at most "
                     "once, because the model may keep state"));
  called_[index] = true;
  const std::vector<RegionValue> inputs = Values(request_.samples[index]);
  AITUNE_ASSIGN_OR_RETURN(const std::function<absl::Status()> restore,
                          request_.model->SaveState(inputs));
  absl::StatusOr<std::vector<OwnedValue>> outputs =
      request_.model->Infer(inputs);
  if (restore) AITUNE_RETURN_IF_ERROR(restore());
  return outputs;
}

absl::StatusOr<std::unique_ptr<Backend>> Backend::Create(
    BackendTraits traits, std::unique_ptr<const BackendConfig> config,
    std::unique_ptr<BackendImplementation> implementation) {
  AITUNE_RETURN_IF_ERROR(config->Validate());
  return std::unique_ptr<Backend>(new Backend(
      std::move(traits), std::move(config), std::move(implementation)));
}

Backend::Backend(BackendTraits traits,
                 std::unique_ptr<const BackendConfig> config,
                 std::unique_ptr<BackendImplementation> implementation)
    : traits_(std::move(traits)),
      config_(std::move(config)),
      implementation_(std::move(implementation)) {}

absl::Status Backend::Build(const BuildRequest& request) {
  std::unique_lock<StateLock> lock(lock_);
  if (state() != BackendState::kInit)
    return NotAllowed("Backend ", name(), " build should be called only once");
  absl::Status status = CheckDevice(request.device);
  if (status.ok()) {
    SetDevice(request.device);
    BuildContext context(request);
    status = Guarded(name(), "build",
                     [&] { return implementation_->Build(context); });
  }
  if (!status.ok()) {
    SetDevice(std::nullopt);
    Log(LogChannel::kError, absl::StrCat("Failed to build backend(", name(),
                                         "): ", status.ToString()));
    return status;
  }
  state_ = BackendState::kActive;
  return absl::OkStatus();
}

absl::Status Backend::Activate() {
  std::unique_lock<StateLock> lock(lock_);
  switch (state()) {
    case BackendState::kInit:
      return NotAllowed("Cannot activate backend ", name(),
                        ", backend should be built first");
    case BackendState::kDeployed:
      return NotAllowed("Cannot activate backend ", name(),
                        ", backend is already deployed");
    case BackendState::kActive:
      return absl::OkStatus();
    case BackendState::kInactive:
    case BackendState::kCheckpointLoaded:
      break;
  }
  const std::optional<Device> where = device();
  if (!where.has_value()) return absl::InvalidArgumentError(kNoDevice);
  AITUNE_RETURN_IF_ERROR(Guarded(
      name(), "activate", [&] { return implementation_->Activate(*where); }));
  state_ = BackendState::kActive;
  return absl::OkStatus();
}

absl::Status Backend::Deactivate() {
  std::unique_lock<StateLock> lock(lock_);
  switch (state()) {
    case BackendState::kInit:
      return NotAllowed("Cannot deactivate backend ", name(),
                        ", backend should be built first");
    case BackendState::kDeployed:
      return NotAllowed("Cannot deactivate backend ", name(),
                        ", backend is already deployed");
    case BackendState::kCheckpointLoaded:
      return NotAllowed("Cannot deactivate backend ", name(),
                        ", backend has already been deployed");
    case BackendState::kInactive:
      return absl::OkStatus();
    case BackendState::kActive:
      break;
  }
  AITUNE_RETURN_IF_ERROR(Guarded(
      name(), "deactivate", [&] { return implementation_->Deactivate(); }));
  state_ = BackendState::kInactive;
  return absl::OkStatus();
}

absl::StatusOr<bool> Backend::Repair(absl::Span<const RegionValue> inputs) {
  std::unique_lock<StateLock> lock(lock_);
  if (state() != BackendState::kActive)
    return NotAllowed("Cannot repair backend ", name(),
                      ", backend should be activated first");
  return Guarded(name(), "repair",
                 [&] { return implementation_->Repair(inputs); });
}

absl::Status Backend::Deploy(const std::optional<Device>& device) {
  std::unique_lock<StateLock> lock(lock_);
  if (state() != BackendState::kCheckpointLoaded)
    return NotAllowed("Cannot deploy backend ", name(),
                      ", backend should be loaded from a checkpoint");
  const std::optional<Device> before = this->device();
  const std::optional<Device> where = device.has_value() ? device : before;
  if (!where.has_value()) return absl::InvalidArgumentError(kNoDevice);
  AITUNE_RETURN_IF_ERROR(CheckDevice(*where));
  SetDevice(where);
  absl::Status status = Guarded(
      name(), "deploy", [&] { return implementation_->Deploy(*where); });
  if (!status.ok()) {
    SetDevice(before);
    return status;
  }
  state_ = BackendState::kDeployed;
  return absl::OkStatus();
}

bool Backend::is_ready() const {
  const BackendState now = state();
  return now == BackendState::kActive || now == BackendState::kDeployed;
}

template <typename Call>
auto Backend::IfReady(const Call& call) const -> decltype(call()) {
  // Test the state before taking the lock too, so that a call in a wrong state
  // does not wait for a build.
  if (is_ready()) {
    std::shared_lock<StateLock> lock(lock_);
    if (is_ready()) return Guarded(name(), "infer", call);
  }
  return NotAllowed("Cannot run inference, backend ", name(),
                    " should be activated first");
}

absl::StatusOr<std::vector<OwnedValue>> Backend::Infer(
    absl::Span<const RegionValue> inputs) const {
  return IfReady([&] { return implementation_->Infer(inputs); });
}

absl::StatusOr<std::unique_ptr<BoundCall>> Backend::Bind(
    absl::Span<const RegionValue> inputs,
    absl::Span<const RegionValue> outputs) const {
  return IfReady([&] { return implementation_->Bind(inputs, outputs); });
}

absl::StatusOr<std::vector<StepTime>> Backend::Profile(
    absl::Span<const RegionValue> inputs, int repeats) const {
  return IfReady([&] { return implementation_->Profile(inputs, repeats); });
}

std::string Backend::Key() const {
  return absl::StrCat(name(), "_", config_->Key());
}

std::string Backend::Describe() const {
  return absl::StrCat(name(), "(", config_->Describe(), ")");
}

absl::Status Backend::TakeFailedCheck() const {
  std::shared_lock<StateLock> lock(lock_);
  if (state() != BackendState::kActive && state() != BackendState::kDeployed)
    return absl::OkStatus();
  return implementation_->TakeFailedCheck();
}

std::vector<std::string> Backend::Notes() const {
  std::shared_lock<StateLock> lock(lock_);
  if (state() == BackendState::kInit) return {};
  return implementation_->Notes();
}

BackendUsage Backend::Usage() const {
  std::shared_lock<StateLock> lock(lock_);
  if (state() == BackendState::kInit) return {};
  return implementation_->Usage();
}

MemoryUse Backend::Memory() const {
  std::shared_lock<StateLock> lock(lock_);
  if (state() == BackendState::kInit) return {};
  return implementation_->Memory();
}

void Backend::FreeKeptMemory() const {
  std::shared_lock<StateLock> lock(lock_);
  if (state() != BackendState::kInit) implementation_->FreeKeptMemory();
}

void Backend::SetMemoryLimit(int64_t bytes) {
  implementation_->SetMemoryLimit(bytes);
}

void Backend::SetAllocator(std::shared_ptr<const HostAllocator> allocator) {
  implementation_->SetAllocator(std::move(allocator));
}

std::vector<Signature> Backend::Signatures() const {
  std::shared_lock<StateLock> lock(lock_);
  if (state() == BackendState::kInit) return {};
  return implementation_->Signatures();
}

std::optional<DataType> Backend::narrowed_to() const {
  std::shared_lock<StateLock> lock(lock_);
  if (state() == BackendState::kInit) return std::nullopt;
  return implementation_->narrowed_to();
}

std::optional<AccuracyBound> Backend::accuracy_bound() const {
  std::shared_lock<StateLock> lock(lock_);
  if (state() == BackendState::kInit) return std::nullopt;
  return implementation_->accuracy_bound();
}

absl::StatusOr<BackendStateProto> Backend::ToDict() const {
  return StateOf(
      [&](BackendStateProto* proto) { return implementation_->Save(proto); });
}

absl::StatusOr<BackendStateProto> Backend::ToDictFor(
    std::shared_ptr<SourceModel> model) const {
  return StateOf([&](BackendStateProto* proto) {
    return implementation_->SaveFor(model, proto);
  });
}

absl::StatusOr<BackendStateProto> Backend::StateOf(
    const std::function<absl::Status(BackendStateProto*)>& save) const {
  std::shared_lock<StateLock> lock(lock_);
  if (state() == BackendState::kInit)
    return NotAllowed(
        "Backend has not been properly initialized. Please call build() "
        "first.");
  BackendStateProto proto;
  proto.set_type(name());
  *proto.mutable_config() = ToProto(config_->ToDict());
  if (const std::optional<Device> where = device())
    proto.set_device(where->ToString());
  AITUNE_RETURN_IF_ERROR(Guarded(name(), "save", [&] { return save(&proto); }));
  return proto;
}

absl::Status Backend::FromDict(std::shared_ptr<SourceModel> model,
                               const BackendStateProto& proto) {
  std::unique_lock<StateLock> lock(lock_);
  if (state() != BackendState::kInit)
    return NotAllowed("Cannot load backend ", name(), ", it is in state ",
                      std::string(Name(state())),
                      " already. Load into a new backend.");
  if (proto.type() != name())
    return absl::InvalidArgumentError(
        absl::StrCat("Invalid state_dict type: ",
                     proto.type().empty() ? "None" : proto.type()));
  if (model == nullptr && traits_.needs_model)
    return absl::InvalidArgumentError(
        "Module is required to create a backend from a state_dict.");
  AITUNE_ASSIGN_OR_RETURN(const ConfigDict stored,
                          aitune::FromProto(proto.config()));
  if (ConfigValue(stored) != ConfigValue(config_->ToDict()))
    return absl::InvalidArgumentError(
        absl::StrCat("The state_dict is of a ", name(),
                     " with the configuration ", ToPythonStr(stored),
                     ", this one has ", ToPythonStr(config_->ToDict()), "."));
  std::optional<Device> where;
  if (!proto.device().empty()) {
    AITUNE_ASSIGN_OR_RETURN(where, Device::Parse(proto.device()));
    AITUNE_RETURN_IF_ERROR(CheckDevice(*where));
  }
  AITUNE_RETURN_IF_ERROR(Guarded(name(), "load", [&] {
    return implementation_->Load(std::move(model), proto);
  }));
  SetDevice(where);
  state_ = BackendState::kCheckpointLoaded;
  return absl::OkStatus();
}

absl::Status Backend::ToJson(const std::filesystem::path& path) const {
  return config_->ToJson(path);
}

std::optional<Device> Backend::device() const {
  std::lock_guard<std::mutex> lock(device_mutex_);
  return device_;
}

void Backend::SetDevice(std::optional<Device> device) {
  std::lock_guard<std::mutex> lock(device_mutex_);
  device_ = std::move(device);
}

absl::Status Backend::CheckDevice(const Device& device) const {
  if (std::find(traits_.devices.begin(), traits_.devices.end(), device.type) !=
      traits_.devices.end())
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "Device ", device.type, " is not supported by the backend ", name()));
}

}  // namespace aitune
