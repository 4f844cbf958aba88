// TorchInductorBackend: the model compiled by this library, a version for each
// kind of inputs.
#include "frontend/backends/compiled/compiled_backend.h"

#include <ATen/Context.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/backends/compile_settings.h"
#include "frontend/backends/compiled/build_version.h"
#include "frontend/backends/compiled/kept_version.h"
#include "frontend/backends/compiled/torch_inductor_config.h"
#include "frontend/backends/compiled/version_inputs.h"
#include "frontend/backends/compiled/version_notes.h"
#include "frontend/backends/torch_backend.h"
#include "frontend/compiled_model/compile_trace.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/compiled_model/model_signature.h"
#include "frontend/values/gpu.h"
#include "runtime/backend/registry.h"
#include "runtime/bundle/private_folder.h"
#include "runtime/control/control.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/cuda/gpu_target.h"
#include "runtime/guards/dispatch_table.h"
#include "runtime/logging/logging.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

constexpr char kName[] = "TorchInductorBackend";

using Table = DispatchTable<CompiledModel>;

class CompiledBackend : public TorchBackend {
 public:
  CompiledBackend(std::string name, std::string key,
                  TorchInductorBackendConfig config, InductorOptions options)
      : TorchBackend(config.autocast_enabled, config.autocast_dtype),
        name_(std::move(name)),
        key_(std::move(key)),
        config_(std::move(config)),
        options_(std::move(options)) {}

 protected:
  bool runs_model() const override { return false; }
  absl::Status Prepare(BuildContext* context) override;
  void Release() override {
    reset_ = nullptr;
    table_ = nullptr;
  }
  absl::StatusOr<std::vector<OwnedValue>> Run(
      absl::Span<const RegionValue> inputs) const override;
  absl::StatusOr<bool> Repair(absl::Span<const RegionValue> inputs) override;
  std::vector<std::string> Notes() const override;
  std::vector<Signature> Signatures() const override;
  std::optional<DataType> narrowed_to() const override {
    if (TorchBackend::narrowed_to()) return TorchBackend::narrowed_to();
    // As exact as eager where LibTorch is told the same.
    if (OptionsOfVersion(*settings_, options_, device()).tf32Matmul &&
        !at::globalContext().allowTF32CuBLAS())
      return DataType::kFloat16;
    return std::nullopt;
  }
  std::optional<double> min_cosine() const override {
    return options_.min_cosine;
  }
  absl::Status TakeFailedCheck() const override;
  absl::Status SaveMore(BackendStateProto* state,
                        TorchBackendStateProto* more) const override;
  absl::Status LoadMore(const BackendStateProto& state,
                        const TorchBackendStateProto& more) override;

 private:
  // Null beyond the limit of versions.
  absl::StatusOr<std::shared_ptr<CompiledModel>> Find(
      absl::Span<const RegionValue> inputs, OnMiss on_miss) const;
  // What settings_ say to trace for; null: as each call is.
  const ModelInputs* asked() const {
    return settings_->inputs.has_value() && config_.dynamic != false
               ? &*settings_->inputs
               : nullptr;
  }
  // The first version of the inputs that were asked for, which is for their
  // typical call.
  absl::Status CompileForTypicalCall();
  // A version for a call with `leaves`, of which `call` is the description.
  absl::StatusOr<Table::Version> Compile(
      const CompileRequest& request, absl::Span<const RegionValue> leaves,
      absl::Span<const CallInput> call) const;
  absl::StatusOr<std::unique_ptr<CompiledModel>> BuildFor(
      absl::Span<const InputDescription> wanted,
      const ValueList& arguments) const;
  absl::StatusOr<std::vector<OwnedValue>> RunEager(
      absl::Span<const RegionValue> inputs) const;
  // Notes what building it showed; an error if fullgraph refuses it.
  absl::Status CheckGraph(const CompiledModel& compiled) const;
  // Registers a version that calls will run, so that TakeFailedCheck asks it.
  std::shared_ptr<CompiledModel> Loaded(
      std::unique_ptr<CompiledModel> version) const;
  // The threads that the options ask for, for as long as the result lives.
  ScopedThreadCount Threads() const;
  // Loads what is kept. A machine of another kind compiles anew.
  absl::Status LoadKept();

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
  std::unique_ptr<ResetRegistration> reset_;

  mutable std::mutex kept_mutex_;
  mutable std::vector<KeptVersion> kept_;
  mutable VersionNotes notes_;
  // Where SaveMore writes; null until then. The number of files so far.
  mutable std::unique_ptr<PrivateFolder> artifacts_;
  mutable int64_t artifact_count_ = 0;

  mutable std::mutex loaded_mutex_;
  mutable std::vector<std::weak_ptr<const CompiledModel>> loaded_;
};

absl::Status CompiledBackend::Prepare(BuildContext* context) {
  if (context != nullptr) {
    settings_ = source()->compile_settings();
    if (settings_ == nullptr)
      settings_ = std::make_shared<const CompileSettings>();
    has_version_ = false;
    if (config_.options.has_value() && options_.cudagraphs &&
        !device().is_gpu())
      return absl::InvalidArgumentError(
          "the option triton.cudagraphs has no effect on a CPU; leave it out, "
          "or use mode='reduce-overhead', which asks for it where there is a "
          "GPU");
    if (!device().is_gpu() &&
        (options_.tf32_matmul || !options_.tf32_convolution))
      return absl::InvalidArgumentError(
          "the options backends.cuda.matmul.allow_tf32 and "
          "backends.cudnn.allow_tf32 have no effect on a CPU; leave them out");
    if (options_.cudagraphs && !device().is_gpu())
      Log(LogChannel::kPerfHints,
          "CUDA graphs are not used: the model runs on a CPU");
    spec_ = context->graph_spec();
    const std::filesystem::path cached = settings_->cache_folder.empty()
                                             ? context->cache_dir()
                                             : settings_->cache_folder;
    if (!cached.empty()) {
      absl::StatusOr<std::unique_ptr<Cache>> cache = Cache::Open(cached);
      if (cache.ok()) {
        cache_ = *std::move(cache);
      } else {
        Log(LogChannel::kWarning,
            absl::StrCat("compiled models are not kept: ",
                         std::string(cache.status().message())));
      }
    }
  }
  model_id_ = model_id();
  const ScopedThreadCount threads = Threads();

  DispatchOptions dispatch;
  dispatch.name = source()->name();
  dispatch.sizes.dynamic = config_.dynamic;
  if (!spec_.inputs.empty()) dispatch.sizes.spec = spec_;
  dispatch.recompile_limit = static_cast<int>(options_.recompile_limit);
  if (!options_.guard_filter_fn.empty())
    dispatch.guard_filter = FindGuardFilter(options_.guard_filter_fn);
  table_ = std::make_unique<Table>(std::move(dispatch));
  if (context == nullptr) {
    AITUNE_RETURN_IF_ERROR(LoadKept());
  } else {
    kept_.clear();
    notes_.Clear();
    AITUNE_RETURN_IF_ERROR(CompileForTypicalCall());
    for (const Sample& sample : context->samples()) {
      AITUNE_RETURN_IF_ERROR(Find(Values(sample), OnMiss::kCompile).status());
    }
  }
  reset_ = std::make_unique<ResetRegistration>([this] {
    if (!HasTraceCompiler()) return;  // Nothing could be made again.
    table_->Reset();
    std::lock_guard<std::mutex> lock(kept_mutex_);
    kept_.clear();
  });
  return absl::OkStatus();
}

absl::Status CompiledBackend::CompileForTypicalCall() {
  if (asked() == nullptr) return absl::OkStatus();
  AITUNE_ASSIGN_OR_RETURN(ValueList arguments,
                          TypicalArguments(*asked(), settings_->seed));
  if (device().is_gpu()) arguments = ToDevice(arguments, device());
  AITUNE_ASSIGN_OR_RETURN(const Sample call, source()->Flatten(arguments));
  return Find(Values(call), OnMiss::kCompile).status();
}

absl::StatusOr<std::shared_ptr<CompiledModel>> CompiledBackend::Find(
    absl::Span<const RegionValue> inputs, OnMiss on_miss) const {
  AITUNE_ASSIGN_OR_RETURN(const std::vector<CallInput> call,
                          CallInputsOf(inputs));
  return table_->Find(
      call,
      [&](const CompileRequest& request) {
        return Compile(request, inputs, call);
      },
      on_miss);
}

absl::StatusOr<std::vector<OwnedValue>> CompiledBackend::Run(
    absl::Span<const RegionValue> inputs) const {
  const ScopedThreadCount threads = Threads();
  const Stance stance = CurrentStance();
  if (stance == Stance::kForceEager) return RunEager(inputs);
  const auto compiled = Find(
      inputs, stance == Stance::kDefault ? OnMiss::kCompile : OnMiss::kFail);
  if (!compiled.ok()) {
    if (stance == Stance::kEagerOnRecompile &&
        absl::IsFailedPrecondition(compiled.status()))
      return RunEager(inputs);
    return compiled.status();
  }
  if (*compiled == nullptr) return RunEager(inputs);
  const ScopedActivity activity(ScopedActivity::Kind::kCall);
  // A guard on a constant that is not checked means the compiled one.
  AITUNE_ASSIGN_OR_RETURN(
      std::vector<OwnedValue> leaves,
      (*compiled)->RunLeaves(inputs, options_.guard_filter_fn.empty()
                                         ? ConstantCheck::kCheck
                                         : ConstantCheck::kTakeConstants));
  return source()->FlattenResult((*compiled)->output_structure(),
                                 std::move(leaves));
}

absl::StatusOr<std::vector<OwnedValue>> CompiledBackend::RunEager(
    absl::Span<const RegionValue> inputs) const {
  AITUNE_ASSIGN_OR_RETURN(const ValueList arguments,
                          source()->Unflatten(inputs));
  AITUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const Model> model,
                          EagerModel());
  AITUNE_ASSIGN_OR_RETURN(const c10::IValue result, model->RunEager(arguments));
  return source()->FlattenResult(result);
}

absl::Status CompiledBackend::TakeFailedCheck() const {
  if (!device().is_gpu()) return absl::OkStatus();
  std::lock_guard<std::mutex> lock(loaded_mutex_);
  for (const std::weak_ptr<const CompiledModel>& version : loaded_) {
    if (const auto compiled = version.lock())
      AITUNE_RETURN_IF_ERROR(compiled->TakeFailedCheck());
  }
  return absl::OkStatus();
}

ScopedThreadCount CompiledBackend::Threads() const {
  const int threads = options_.cpp_threads > 0
                          ? static_cast<int>(options_.cpp_threads)
                          : settings_->options.threads;
  return ScopedThreadCount(threads > 0 ? threads : ThreadCount());
}

absl::StatusOr<std::unique_ptr<CompiledModel>> CompiledBackend::BuildFor(
    absl::Span<const InputDescription> wanted,
    const ValueList& arguments) const {
  BuildOptions build;
  build.compile = OptionsOfVersion(*settings_, options_, device());
  build.trace.seed = settings_->seed;
  build.cuda_graphs = options_.cudagraphs;
  build.cache = cache_.get();
  build.keep_artifact = true;
  build.model_sha256 = model_id_;
  build.compile.leftOut = notes_.wrong();
  const bool is_first = !std::exchange(has_version_, true);
  if (!is_first) {
    // Made while somebody waits for a call.
    build.compile.progress = nullptr;
    build.compile.tuning.budgetSeconds = 0;
  }
  return BuildVersion(
      {*model(), source()->name(), asked(), is_first, wanted, arguments},
      build);
}

absl::StatusOr<Table::Version> CompiledBackend::Compile(
    const CompileRequest& request, absl::Span<const RegionValue> leaves,
    absl::Span<const CallInput> call) const {
  const ScopedActivity activity(ScopedActivity::Kind::kCompile);
  std::vector<InputDescription> wanted = request.inputs;
  if (const Device there = DeviceOf(leaves);
      there.is_gpu() && there != device())
    return absl::InvalidArgumentError(absl::StrCat(
        "an input is on ", there.ToString(), ", the model runs on ",
        device().ToString(), "; move it there, or build for its device"));
  // Traced on the CPU, whatever it is compiled for.
  AITUNE_ASSIGN_OR_RETURN(ValueList arguments, source()->Unflatten(leaves));
  if (device().is_gpu()) arguments = ToCpu(arguments);
  absl::StatusOr<std::unique_ptr<CompiledModel>> compiled =
      BuildFor(wanted, arguments);
  std::vector<InputDescription> inputs;
  if (compiled.ok()) {
    inputs = InputsOfVersion(wanted, (*compiled)->plan());
    // An axis that could not stay dynamic has one size then, and that need not
    // be this call's.
    if (const auto failure = GuardSet(inputs).Explain(call)) {
      Log(LogChannel::kDynamic,
          absl::StrCat(source()->name(),
                       ": compiled for exactly these sizes, because ",
                       failure->text));
      wanted.clear();
      for (const CallInput& input : call)
        wanted.push_back(InputDescription::Of(input));
      compiled = BuildFor(wanted, arguments);
      inputs = wanted;
    }
  }
  if (!compiled.ok()) return compiled.status();
  AITUNE_RETURN_IF_ERROR(
      source()->LearnArguments((*compiled)->input_structure()));
  AITUNE_RETURN_IF_ERROR(CheckGraph(**compiled));
  if (const std::string reason = (*compiled)->GraphReason();
      options_.cudagraphs && !reason.empty())
    Log(LogChannel::kPerfHints, absl::StrCat(source()->name(), ": ", reason));
  const std::shared_ptr<CompiledModel> version = Loaded(*std::move(compiled));
  {
    std::lock_guard<std::mutex> lock(kept_mutex_);
    kept_.push_back(
        {version->cache().key, version->artifact(), inputs, version});
  }
  if (settings_->built)
    settings_->built(absl::StrCat(name_, "_", key_), *version,
                     /*repaired=*/false);
  return Table::Version{version, std::move(inputs),
                        ConstraintsOfVersion(version->plan())};
}

absl::StatusOr<bool> CompiledBackend::Repair(
    absl::Span<const RegionValue> inputs) {
  const ScopedThreadCount threads = Threads();
  AITUNE_ASSIGN_OR_RETURN(const std::shared_ptr<CompiledModel> version,
                          Find(inputs, OnMiss::kFail));
  if (version == nullptr) return false;  // LibTorch ran the call
  const ScopedActivity activity(ScopedActivity::Kind::kCompile);
  AITUNE_ASSIGN_OR_RETURN(ValueList arguments, source()->Unflatten(inputs));
  if (device().is_gpu()) arguments = ToCpu(arguments);
  AITUNE_ASSIGN_OR_RETURN(
      const bool changed,
      version->Repair(arguments, settings_->options.progress));
  AITUNE_RETURN_IF_ERROR(CheckGraph(*version));
  {
    std::lock_guard<std::mutex> lock(kept_mutex_);
    for (KeptVersion& kept : kept_) {
      if (kept.loaded.lock() != version) continue;
      kept.key = version->cache().key;
      kept.artifact = version->artifact();
    }
  }
  if (settings_->built)
    settings_->built(absl::StrCat(name_, "_", key_), *version,
                     /*repaired=*/true);
  return changed;
}

std::shared_ptr<CompiledModel> CompiledBackend::Loaded(
    std::unique_ptr<CompiledModel> version) const {
  std::shared_ptr<CompiledModel> shared = std::move(version);
  std::lock_guard<std::mutex> lock(loaded_mutex_);
  // Versions that a reset let go have nothing more to tell.
  loaded_.erase(
      std::remove_if(loaded_.begin(), loaded_.end(),
                     [](const auto& version) { return version.expired(); }),
      loaded_.end());
  loaded_.push_back(shared);
  return shared;
}

absl::Status CompiledBackend::CheckGraph(const CompiledModel& compiled) const {
  notes_.Add(compiled.report(), source()->name());
  return config_.fullgraph ? CheckFullGraph(compiled.report())
                           : absl::OkStatus();
}

std::vector<std::string> CompiledBackend::Notes() const {
  std::vector<std::string> notes = notes_.Texts();
  const int64_t calls = table_ == nullptr ? 0 : table_->calls_beyond_limit();
  if (calls > 0)
    notes.push_back(absl::StrCat(
        "LibTorch ran ", calls, calls == 1 ? " call" : " calls",
        " of sizes beyond the limit of ", options_.recompile_limit,
        " compiled versions; raise recompile_limit, or set dynamic to True"));
  return notes;
}

std::vector<Signature> CompiledBackend::Signatures() const {
  std::vector<std::shared_ptr<const CompiledModel>> loaded;
  {
    std::lock_guard<std::mutex> lock(loaded_mutex_);
    for (const std::weak_ptr<const CompiledModel>& version : loaded_) {
      if (auto compiled = version.lock()) loaded.push_back(std::move(compiled));
    }
  }
  std::vector<Signature> signatures;
  for (const auto& compiled : loaded) {
    for (const CompiledModel* version : compiled->versions())
      signatures.push_back(SignatureOf(*version, model()->parameters()));
  }
  return signatures;
}

absl::Status CompiledBackend::LoadKept() {
  std::lock_guard<std::mutex> lock(kept_mutex_);
  std::vector<Table::Version> versions;
  std::string target;
  if (device().is_gpu() && !kept_.empty()) {
    AITUNE_ASSIGN_OR_RETURN(target, cuda::DescribeGpu(device().gpu()));
  }
  for (const KeptVersion& kept : kept_) {
    AITUNE_ASSIGN_OR_RETURN(ArtifactBlobs blobs, BlobsOf(kept, cache_.get()));
    absl::StatusOr<CompiledParts> parts = ReadArtifact(
        blobs.model, std::move(blobs.constants), *model(), model_id_, target);
    if (absl::IsFailedPrecondition(parts.status()) && HasTraceCompiler()) {
      Log(LogChannel::kWarning,
          absl::StrCat(source()->name(), " is compiled anew: ",
                       std::string(parts.status().message())));
      versions.clear();
      kept_.clear();
      break;
    }
    if (!parts.ok()) return parts.status();
    AITUNE_ASSIGN_OR_RETURN(
        std::unique_ptr<CompiledModel> loaded,
        CompiledModel::FromParts(*model(), *std::move(parts), nullptr, device(),
                                 options_.cudagraphs));
    AITUNE_RETURN_IF_ERROR(source()->LearnArguments(loaded->input_structure()));
    std::vector<InputDescription> inputs = kept.inputs;
    for (InputDescription& input : inputs) {
      if (input.kind == InputKind::kTensor) input.device = device().ToString();
    }
    std::vector<SizeConstraint> constraints =
        ConstraintsOfVersion(loaded->plan());
    versions.push_back(
        {Loaded(std::move(loaded)), std::move(inputs), std::move(constraints)});
  }
  for (Table::Version& version : versions) table_->Insert(std::move(version));
  return absl::OkStatus();
}

absl::Status CompiledBackend::SaveMore(BackendStateProto* state,
                                       TorchBackendStateProto* more) const {
  *more->mutable_compile_options() = ToProto(settings_->options);
  std::lock_guard<std::mutex> lock(kept_mutex_);
  if (artifacts_ == nullptr) {
    AITUNE_ASSIGN_OR_RETURN(artifacts_, PrivateFolder::Make());
  }
  return SaveVersions(kept_, cache_.get(), artifacts_->path(), artifact_count_,
                      state, more);
}

absl::Status CompiledBackend::LoadMore(const BackendStateProto& state,
                                       const TorchBackendStateProto& more) {
  AITUNE_ASSIGN_OR_RETURN(std::vector<KeptVersion> kept,
                          LoadVersions(state, more));
  CompileSettings settings;
  settings.options = FromProto(more.compile_options());
  settings_ = std::make_shared<const CompileSettings>(std::move(settings));
  std::lock_guard<std::mutex> lock(kept_mutex_);
  kept_ = std::move(kept);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Backend>> Create(const ConfigDict& dict) {
  AITUNE_ASSIGN_OR_RETURN(TorchInductorBackendConfig config,
                          TorchInductorBackendConfig::FromDict(dict));
  AITUNE_ASSIGN_OR_RETURN(InductorOptions options, ResolveOptions(config));
  BackendTraits traits;
  traits.name = kName;
  traits.devices = {"cpu", "cuda"};
  traits.is_jit = true;
  auto implementation =
      MakeCompiledBackend(kName, config.Key(), config, std::move(options));
  return Backend::Create(
      std::move(traits),
      std::make_unique<TorchInductorBackendConfig>(std::move(config)),
      std::move(implementation));
}

[[maybe_unused]] const absl::Status registered = RegisterBackend(
    kName, {"Compiles the model for this machine, a version for each kind of "
            "inputs.",
            Create});

}  // namespace

std::unique_ptr<BackendImplementation> MakeCompiledBackend(
    std::string name, std::string key, TorchInductorBackendConfig config,
    InductorOptions options) {
  return std::make_unique<CompiledBackend>(
      std::move(name), std::move(key), std::move(config), std::move(options));
}

}  // namespace aitune::frontend
