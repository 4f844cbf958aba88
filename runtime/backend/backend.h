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
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/backend/accuracy_bound.h"
#include "runtime/backend/backend_config.h"
#include "runtime/backend/backend_implementation.h"
#include "runtime/backend/backend_state.pb.h"
#include "runtime/backend/signature.h"
#include "runtime/backend/state_lock.h"
#include "runtime/backend/step_time.h"
#include "runtime/device/device.h"
#include "runtime/executable/memory_use.h"

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

// The fixed properties of a kind of backend.
struct BackendTraits {
  std::string name;     // its class name, such as "TorchInductorBackend"
  bool is_jit = false;  // whether it compiles in this process
  std::vector<std::string> devices = {"cpu"};  // device types it can run on
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

  // Builds again what runs `inputs`, which gave a wrong result for them: its
  // parts are looked through with them, and what is wrong is replaced. Whether
  // something was; kinds of backends that are not made of parts replace
  // nothing. Takes as long as Build. kFailedPrecondition unless the state is
  // ACTIVE; else the implementation's error, after which the backend may still
  // be wrong.
  absl::StatusOr<bool> Repair(absl::Span<const RegionValue> inputs);

  // Makes a loaded backend ready to run, without a way back, on `device`; if
  // that is not set, on the device that the checkpoint names.
  absl::Status Deploy(const std::optional<Device>& device);

  // Runs the model on flattened inputs, which are read in place and must stay
  // until the call returns. The result owns its memory. Errors: the
  // implementation's; kInternal with the text of an exception.
  absl::StatusOr<std::vector<OwnedValue>> Infer(
      absl::Span<const RegionValue> inputs) const;

  // A call of Infer with memory of the caller's, to be run many times: `inputs`
  // are flattened and read in place by each run; `outputs` are the tensors of
  // the result in depth-first order of its nesting, each dense and in row-major
  // order, on the backend's device. Outputs overlap neither each other nor the
  // inputs. May compile a version for the inputs, as Infer; the stance counts
  // now, not in the runs. kUnimplemented where the model can't work in this
  // memory: a kind of backend that can't bind, autocast (which converts
  // outputs), a call that LibTorch runs, an output whose size depends on data,
  // an output that is not aligned as LibTorch's own (64 bytes on a CPU, 256 on
  // a GPU). kInvalidArgument for outputs of other numbers, dtypes or sizes than
  // the call gives; otherwise as Infer.
  absl::StatusOr<std::unique_ptr<BoundCall>> Bind(
      absl::Span<const RegionValue> inputs,
      absl::Span<const RegionValue> outputs) const;

  // The steps of the version that runs `inputs`, in their order, each with the
  // median of its times over `repeats` (at least 1) runs, after one that is not
  // timed and may compile, as Infer. What they write of the inputs is put back
  // before each, and at the end. On a GPU it waits for the runs. They do not
  // count as calls. kUnimplemented where there are no steps to tell apart:
  // LibTorch runs the model, or this call; otherwise as Infer.
  absl::StatusOr<std::vector<StepTime>> Profile(
      absl::Span<const RegionValue> inputs, int repeats) const;

  // What it has done since it was built or loaded, and what it holds. Zeros for
  // backends that count nothing.
  BackendUsage Usage() const;

  // The memory that it holds now; zeros before it is built or loaded. A
  // constant that a kernel reads where LibTorch or a loaded file has it counts
  // as the model's, or not at all.
  MemoryUse Memory() const;

  // Frees what is kept for later calls and no call is using. The next call
  // allocates it again.
  void FreeKeptMemory() const;

  // The most bytes of Memory().total() with which a call begins or goes on; 0
  // or less: no limit. Where a call would need more, what is kept is freed, and
  // if that is too little, the call is kResourceExhausted; the text tells what
  // is held. Results count when they have come back, so that the next call
  // frees those that are beyond the limit. Only compiling backends keep memory
  // and check it.
  void SetMemoryLimit(int64_t bytes);

  // Has the memory of results and of intermediate values of later calls on a
  // CPU be the allocator's; null: the system's, as at first. What is kept is
  // freed; results that somebody has stay as they are. Where the allocator has
  // none, the call is kResourceExhausted. Only compiling backends use it, and
  // not for what LibTorch allocates.
  void SetAllocator(std::shared_ptr<const HostAllocator> allocator);

  // The error of an earlier call that was found after Infer returned, such as
  // an index out of range on a GPU. It is certain to be found once the caller
  // has waited for the call's result. Each error is returned once. OK when
  // there is none, and in states that do not allow Infer.
  absl::Status TakeFailedCheck() const;

  // "TorchInductorBackend_" and the configuration's key.
  std::string Key() const;
  // "TorchInductorBackend(mode=max-autotune)".
  std::string Describe() const;

  // Lines for a report on the built model, such as "LibTorch runs
  // aten::bincount: ...". Empty before Build.
  std::vector<std::string> Notes() const;

  // What each compiled version takes and gives, in the order in which they were
  // made or loaded. Empty for backends that compile nothing and before Build,
  // Activate or Deploy.
  std::vector<Signature> Signatures() const;

  // The floating-point dtype in which the configuration makes the backend
  // compute although the model computes in a wider one, as autocast does.
  // Outputs then have that dtype's errors, and a comparison must allow for
  // them. TF32 counts as float16, whose 10 bits of mantissa it has. Not set
  // when the backend computes in the model's dtypes, and before Build.
  std::optional<DataType> narrowed_to() const;

  // What the configuration promises about outputs when no tolerance of a dtype
  // can be kept, as for a quantised model. Not set when one is kept, and before
  // Build.
  std::optional<AccuracyBound> accuracy_bound() const;

  // The backend's state for a checkpoint. Artifacts are paths of files, which
  // the checkpoint then bundles; they are in a folder that only this user may
  // enter, and are deleted with the backend. kFailedPrecondition before Build.
  absl::StatusOr<BackendStateProto> ToDict() const;

  // The state of a backend that is as this one, but runs `model`, the same
  // program with other weights, without compiling it: for FromDict. This
  // backend stays as it is, and must live until then. kFailedPrecondition,
  // naming the weight, where compiled code depends on the old elements, and
  // before Build; kUnimplemented for a kind of backend that can't.
  absl::StatusOr<BackendStateProto> ToDictFor(
      std::shared_ptr<SourceModel> model) const;

  // Loads what ToDict returned, into a backend in state INIT with the
  // configuration that `state` holds; the state is then CHECKPOINT_LOADED.
  // `model` may be null if the traits do not need it. kInvalidArgument for the
  // state of another kind of backend or of another configuration, and when a
  // model is needed and `model` is null. BackendFromDict of registry.h also
  // makes the backend.
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
  // The types of devices that it can run on, such as "cuda".
  const std::vector<std::string>& devices() const { return traits_.devices; }
  const BackendConfig& config() const { return *config_; }
  // The device the model runs on; not set before Build or FromDict.
  std::optional<Device> device() const;

 private:
  Backend(BackendTraits traits, std::unique_ptr<const BackendConfig> config,
          std::unique_ptr<BackendImplementation> implementation);

  // ToDict, with what `save` adds.
  absl::StatusOr<BackendStateProto> StateOf(
      const std::function<absl::Status(BackendStateProto*)>& save) const;
  // Whether the state allows Infer.
  bool is_ready() const;
  // What `call` gives, or the error of a state that does not allow Infer.
  template <typename Call>
  auto IfReady(const Call& call) const -> decltype(call());
  absl::Status CheckDevice(const Device& device) const;
  void SetDevice(std::optional<Device> device);

  const BackendTraits traits_;
  const std::unique_ptr<const BackendConfig> config_;
  const std::unique_ptr<BackendImplementation> implementation_;

  // Held shared by Infer and ToDict, exclusively by changes of the state.
  mutable StateLock lock_;
  std::atomic<BackendState> state_{BackendState::kInit};

  mutable std::mutex device_mutex_;  // so that device() never waits for lock_
  std::optional<Device> device_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BACKEND_BACKEND_H_
