// A model made ready to run in one particular way, and the states it goes
// through: built, deactivated to give its memory back, activated again, loaded
// from a checkpoint, deployed for good.
//
// clang-format off
// | call       | INIT      | ACTIVE      | INACTIVE  | CHECKPOINT_LOADED | DEPLOYED |
// |------------|-----------|-------------|-----------|-------------------|----------|
// | Build      | -> ACTIVE | error       | error     | error             | error    |
// | Activate   | error     | nothing     | -> ACTIVE | -> ACTIVE         | error    |
// | Deactivate | error     | -> INACTIVE | nothing   | error             | error    |
// | Deploy     | error     | error       | error     | -> DEPLOYED       | error    |
// | Infer      | error     | runs        | error     | error             | runs     |
// clang-format on
//
// A call that fails leaves the state as it was, so that it can be tried again.
// Every call is thread-safe: calls of Infer run at the same time, changes of
// the state wait for them and exclude them. A call in a state that does not
// allow it is kFailedPrecondition, with AITune's text.
#ifndef AITUNE_RUNTIME_BACKEND_BACKEND_H_
#define AITUNE_RUNTIME_BACKEND_BACKEND_H_

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/backend/backend_config.h"
#include "runtime/backend/backend_implementation.h"
#include "runtime/backend/backend_state.pb.h"
#include "runtime/backend/state_lock.h"
#include "runtime/device/device.h"

namespace aitune {

enum class BackendState {
  kInit,
  kActive,
  kInactive,
  kCheckpointLoaded,
  kDeployed,
};

// "INIT", "ACTIVE", "INACTIVE", "CHECKPOINT_LOADED", "DEPLOYED".
std::string_view Name(BackendState state);

// What does not change about a kind of backend.
struct BackendTraits {
  std::string name;     // its class name, such as "TorchInductorBackend"
  bool is_jit = false;  // whether it compiles in this process
  std::vector<std::string> devices = {"cpu"};  // types it can run on
  // Whether the model itself is needed to load a checkpoint.
  bool needs_model = true;
};

class Backend {
 public:
  // A backend in state INIT. Errors: those of config->Validate().
  static absl::StatusOr<std::unique_ptr<Backend>> Create(
      BackendTraits traits, std::unique_ptr<const BackendConfig> config,
      std::unique_ptr<BackendImplementation> implementation);
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  // Builds and activates. kInvalidArgument for a device that the backend does
  // not know; else the implementation's error, which is logged too. Takes as
  // long as compiling does.
  absl::Status Build(const BuildRequest& request);

  // Brings the artifact back without compiling.
  absl::Status Activate();

  // Frees the memory of the device.
  absl::Status Deactivate();

  // Gets a loaded backend ready for good, on `device`, or where the checkpoint
  // says if it is nothing.
  absl::Status Deploy(const std::optional<Device>& device);

  // Runs the model on flattened inputs, which are read in place and must stay
  // until the call returns. The result owns its memory.
  absl::StatusOr<std::vector<OwnedValue>> Infer(
      absl::Span<const RegionValue> inputs) const;

  // The error of an earlier call that Infer did not wait for, such as an index
  // out of range on a GPU: sure to be known once the result was waited for, and
  // told once. OK where there is none, and in states that run nothing.
  absl::Status TakeFailedCheck() const;

  // "TorchInductorBackend_" and the configuration's key.
  std::string Key() const;
  // "TorchInductorBackend(mode=max-autotune)".
  std::string Describe() const;

  // What a report tells of the built model, a line each, such as "LibTorch runs
  // aten::bincount: ...". Nothing before Build.
  std::vector<std::string> Notes() const;

  // The floating-point dtype that the configuration asks to compute in where
  // the model computes in a wider one, as autocast does: outputs have the
  // errors of that dtype then, and are to be judged by it. TF32 counts as
  // float16, whose significand it has. Nothing: the model's dtypes, and before
  // Build.
  std::optional<DataType> narrowed_to() const;

  // The least cosine of each output to eager's, as vectors, that the
  // configuration promises where it can't be held to the tolerance of a dtype,
  // as of a quantised model. Nothing: it can, and before Build.
  std::optional<double> min_cosine() const;

  // What a checkpoint keeps. Files are artifacts: paths, which the checkpoint
  // bundles. kFailedPrecondition before Build.
  absl::StatusOr<BackendStateProto> ToDict() const;

  // The inverse, for a backend in state INIT with the configuration that
  // `state` holds; the state is then CHECKPOINT_LOADED. kInvalidArgument for
  // the state of another kind of backend, of another configuration, or without
  // the model that is needed. BackendFromDict of registry.h also makes the
  // backend.
  absl::Status FromDict(std::shared_ptr<SourceModel> model,
                        const BackendStateProto& state);

  // Writes the configuration; see BackendConfig::ToJson.
  absl::Status ToJson(const std::filesystem::path& path) const;

  // The state now. Never waits, not even for a build.
  BackendState state() const { return state_.load(); }
  // Whether the state is ACTIVE.
  bool is_active() const { return state() == BackendState::kActive; }
  bool is_jit() const { return traits_.is_jit; }
  const std::string& name() const { return traits_.name; }
  const BackendConfig& config() const { return *config_; }
  // Nothing before Build or FromDict.
  std::optional<Device> device() const;

 private:
  Backend(BackendTraits traits, std::unique_ptr<const BackendConfig> config,
          std::unique_ptr<BackendImplementation> implementation);

  absl::Status CheckDevice(const Device& device) const;
  void SetDevice(std::optional<Device> device);

  const BackendTraits traits_;
  const std::unique_ptr<const BackendConfig> config_;
  const std::unique_ptr<BackendImplementation> implementation_;

  // Shared by Infer and ToDict, held alone by changes of the state.
  mutable StateLock lock_;
  std::atomic<BackendState> state_{BackendState::kInit};

  mutable std::mutex device_mutex_;  // so that device() never waits for lock_
  std::optional<Device> device_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BACKEND_BACKEND_H_
