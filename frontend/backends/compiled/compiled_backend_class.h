// The class behind compiled_backend.h. How it is made ready is in
// compiled_backend.cc, its calls in compiled_backend_calls.cc, how versions are
// made in compiled_backend_versions.cc, what is stored and reported of it in
// compiled_backend_state.cc. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_BACKENDS_COMPILED_COMPILED_BACKEND_CLASS_H_
#define AITUNE_FRONTEND_BACKENDS_COMPILED_COMPILED_BACKEND_CLASS_H_

#include <ATen/Context.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/backends/compile_settings.h"
#include "frontend/backends/compiled/backend_counters.h"
#include "frontend/backends/compiled/background_builds.h"
#include "frontend/backends/compiled/build_version.h"
#include "frontend/backends/compiled/kept_version.h"
#include "frontend/backends/compiled/memory_limit.h"
#include "frontend/backends/compiled/torch_inductor_config.h"
#include "frontend/backends/compiled/version_notes.h"
#include "frontend/backends/torch_backend.h"
#include "frontend/compiled_model/compile_trace.h"
#include "frontend/compiled_model/compiled_model.h"
#include "runtime/backend/step_time.h"
#include "runtime/bundle/private_folder.h"
#include "runtime/control/control.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/guards/dispatch_table.h"
#include "runtime/guards/size_history.h"

namespace aitune::frontend {

// The compiling backend. What it has beyond the interface is for its own files.
//
// A model with state (ModelState): versions hold the state that the model had
// when the backend was built. Once a call has changed it, LibTorch runs all
// calls, on the model's own state, until the backend is built again; a call
// that begins after the one that changed the state has ended sees the change.
// What others than calls of this backend change is found when a version is to
// be made, when LibTorch runs a call, and when the backend is saved or
// activated. No version is made, and none is put into the cache or taken from
// there, for another state than that of the model's hash; LibTorch runs no call
// while a version of a model with state is made. A saved backend has the
// versions only if the model's state is still theirs.
class CompiledBackend : public TorchBackend {
 public:
  using Table = DispatchTable<CompiledModel>;

  CompiledBackend(std::string name, std::string key,
                  TorchInductorBackendConfig config, InductorOptions options)
      : TorchBackend(config.autocast_enabled, config.autocast_dtype),
        name_(std::move(name)),
        key_(std::move(key)),
        config_(std::move(config)),
        options_(std::move(options)) {}
  ~CompiledBackend() override { memory_limit_->Detach(); }

 protected:
  bool runs_model() const override { return false; }
  absl::Status Prepare(BuildContext* context) override;
  void Release() override;
  absl::StatusOr<std::vector<OwnedValue>> Run(
      absl::Span<const RegionValue> inputs) const override;
  absl::StatusOr<bool> Repair(absl::Span<const RegionValue> inputs) override;
  std::vector<std::string> Notes() const override;
  std::vector<Signature> Signatures() const override;
  absl::StatusOr<std::unique_ptr<BoundCall>> Bind(
      absl::Span<const RegionValue> inputs,
      absl::Span<const RegionValue> outputs) const override;
  absl::StatusOr<std::vector<StepTime>> Profile(
      absl::Span<const RegionValue> inputs, int repeats) const override;
  BackendUsage Usage() const override;
  MemoryUse Memory() const override;
  void FreeKeptMemory() const override;
  void SetMemoryLimit(int64_t bytes) override { memory_limit_->Set(bytes); }
  void SetAllocator(std::shared_ptr<const HostAllocator> allocator) override;
  std::optional<DataType> narrowed_to() const override {
    if (TorchBackend::narrowed_to()) return TorchBackend::narrowed_to();
    return RoundsProducts() ? std::optional<DataType>(DataType::kFloat16)
                            : std::nullopt;
  }
  std::optional<AccuracyBound> accuracy_bound() const override {
    return options_.accuracy_bound;
  }
  absl::Status TakeFailedCheck() const override;
  absl::Status SaveMore(BackendStateProto* state,
                        TorchBackendStateProto* more) const override;
  absl::Status SaveMoreFor(const Model& changed, const std::string& id,
                           BackendStateProto* state,
                           TorchBackendStateProto* more) const override;
  absl::Status LoadMore(const BackendStateProto& state,
                        const TorchBackendStateProto& more) override;

 private:
  // Whether operands of matrix products are rounded that eager takes as they
  // are: to tf32, where LibTorch is not told the same.
  bool RoundsProducts() const {
    return OptionsOfVersion(*settings_, options_, device()).tf32Matmul &&
           !at::globalContext().allowTF32CuBLAS();
  }
  // Whether LibTorch runs all calls in eager, whatever they are, and why.
  bool RunsEagerly() const {
    return options_.libtorch_only && !device().is_gpu();
  }
  static constexpr char kRunsEagerly[] =
      "LibTorch runs all calls in eager: CUDA graphs are a GPU's, and the "
      "model runs on a CPU";
  // Null beyond the limit of versions.
  absl::StatusOr<std::shared_ptr<CompiledModel>> Find(
      absl::Span<const RegionValue> inputs, OnMiss on_miss) const;
  // Has a version for `inputs` built, without waiting for it. Whether it will
  // be: one at a time is.
  bool CompileLater(absl::Span<const RegionValue> inputs) const;
  // Has a version for a call with `inputs` built, and waits for as long as the
  // call may: null if it must not wait on, and LibTorch is to run it. Errors:
  // those of Find; kDeadlineExceeded and kCancelled by the call's limit.
  absl::StatusOr<std::shared_ptr<CompiledModel>> FindInTime(
      absl::Span<const RegionValue> inputs) const;
  // Whether the versions of later calls took as long as they may.
  bool IsCompilingOver() const;
  // What settings_ say to trace for; null: as each call is.
  const ModelInputs* asked() const {
    return settings_->inputs.has_value() && config_.dynamic != false
               ? &*settings_->inputs
               : nullptr;
  }
  // The first version of the inputs that were asked for, which is for their
  // typical call.
  absl::Status CompileForTypicalCall();
  // Whether those inputs describe one of the samples.
  bool AskedForAny(absl::Span<const Sample> samples) const;
  // A version for a call with `leaves`, of which `call` is the description.
  absl::StatusOr<Table::Version> Compile(
      const CompileRequest& request, absl::Span<const RegionValue> leaves,
      absl::Span<const CallInput> call) const;
  absl::StatusOr<std::unique_ptr<CompiledModel>> BuildFor(
      absl::Span<const InputDescription> wanted,
      const ValueList& arguments) const;
  // kUnimplemented if `version` can't run the call, as an input that the
  // program writes to has memory of another.
  absl::Status CheckMemory(const CompiledModel& version,
                           absl::Span<const RegionValue> inputs) const;
  absl::StatusOr<std::vector<OwnedValue>> RunEager(
      absl::Span<const RegionValue> inputs) const;
  // Guards on constants may be switched off: the compiled ones are taken then.
  ConstantCheck constant_check() const {
    return options_.guard_filter_fn.empty() ? ConstantCheck::kCheck
                                            : ConstantCheck::kTakeConstants;
  }
  // Notes what building it showed; an error if fullgraph refuses it.
  absl::Status CheckGraph(const CompiledModel& compiled) const;
  // Compares a version that a call with `arguments`, on the CPU, has compiled
  // with eager (version_check.h). Whether calls may run it.
  absl::StatusOr<bool> IsRight(const ValueList& arguments,
                               CompiledModel& version) const;
  // Whether the model has another state than its versions; sets changes_state_
  // if so. Errors: those of TorchScriptSource::StateNumber.
  absl::StatusOr<bool> HasNewState() const;
  // Registers a version that calls will run, so that TakeFailedCheck asks it.
  std::shared_ptr<CompiledModel> Loaded(
      std::unique_ptr<CompiledModel> version) const;
  // Has the memory of a version that calls will run be the allocator's.
  void UseAllocator(const CompiledModel& version) const;
  // The versions that are loaded now, in the order of loading.
  std::vector<std::shared_ptr<const CompiledModel>> LoadedVersions() const;
  // The number of threads that the options ask for; 0 or less: none.
  int asked_threads() const {
    return options_.cpp_threads > 0 ? static_cast<int>(options_.cpp_threads)
                                    : settings_->options.threads;
  }
  // Those threads, or the caller's, for as long as the result lives.
  ScopedThreadCount Threads() const;
  // Loads what is kept. On a machine of another kind nothing, and gives what
  // the versions were for, to be compiled anew.
  absl::StatusOr<std::vector<std::vector<InputDescription>>> LoadKept();
  // Adds what SaveMore adds, with `versions`. kept_mutex_ is held.
  absl::Status SaveKept(absl::Span<const KeptVersion> versions,
                        BackendStateProto* state,
                        TorchBackendStateProto* more) const;
  // Compiles a version for `wanted`, with inputs that are made up.
  absl::Status CompileAnew(std::vector<InputDescription> wanted);

  const std::string name_, key_;  // of the backend
  const TorchInductorBackendConfig config_;
  const InductorOptions options_;
  // Not null; as they were when the model was built.
  std::shared_ptr<const CompileSettings> settings_ =
      std::make_shared<const CompileSettings>();
  mutable bool has_version_ = false;  // with the table's lock for compiling
  std::unique_ptr<Cache> cache_;
  GraphSpec spec_;
  std::string model_id_;  // of model(); empty when it has none
  std::unique_ptr<Table> table_;
  // The table's history while there is no table.
  SizeHistory::Groups history_;

  mutable std::mutex kept_mutex_;
  mutable std::vector<KeptVersion> kept_;
  mutable VersionNotes notes_;
  // Where SaveMore writes; null until then. The number of files so far.
  mutable std::unique_ptr<PrivateFolder> artifacts_;
  mutable int64_t artifact_count_ = 0;

  const std::shared_ptr<BackendCounters> counters_ =
      std::make_shared<BackendCounters>();
  std::atomic<bool> is_prepared_ = false;  // from the end of Prepare on

  // Whether a call may have changed the model's state, or a version that was
  // made would: LibTorch runs all calls then. Shared with bound calls.
  const std::shared_ptr<std::atomic<bool>> changes_state_ =
      std::make_shared<std::atomic<bool>>(false);
  // TorchScriptSource::StateNumber of the state that the versions hold.
  int64_t state_number_ = 0;
  mutable std::mutex loaded_mutex_;
  mutable std::vector<std::weak_ptr<const CompiledModel>> loaded_;
  // Held while versions get the allocator; taken before loaded_mutex_.
  mutable std::mutex allocator_mutex_;
  std::shared_ptr<const HostAllocator> allocator_;  // null: the system
  // Shared with bound calls, which may outlive this.
  const std::shared_ptr<MemoryLimit> memory_limit_ =
      std::make_shared<MemoryLimit>([this] { return Memory(); },
                                    [this] { FreeKeptMemory(); });
  mutable BackgroundCounts background_counts_;
  // Forgets kept_ while there is no table.
  const ResetRegistration reset_kept_{[this] {
    if (!HasTraceCompiler()) return;  // Nothing could be made again.
    std::lock_guard<std::mutex> lock(kept_mutex_);
    kept_.clear();
  }};
  // Null until Prepare. After all that a reset forgets, which another thread
  // may do until this is gone.
  std::unique_ptr<ResetRegistration> reset_;
  // Null until Prepare. Last: its thread uses the rest.
  std::unique_ptr<BackgroundBuilds> background_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_COMPILED_COMPILED_BACKEND_CLASS_H_
