// TorchInductorBackend: the model compiled by this library, a version for each
// kind of inputs.
#include "frontend/backends/compiled/compiled_backend.h"

#include <ATen/core/ivalue.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/backends/compiled/compiled_backend_class.h"
#include "frontend/backends/compiled/torch_inductor_config.h"
#include "frontend/backends/compiled/version_check.h"
#include "frontend/backends/compiled/version_inputs.h"
#include "frontend/compiled_model/compile_trace.h"
#include "frontend/torchscript/model_state.h"
#include "frontend/trace/leaf_value.h"
#include "frontend/values/gpu.h"
#include "frontend/values/torch_util.h"
#include "runtime/backend/registry.h"
#include "runtime/control/call_limit.h"
#include "runtime/control/control.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/logging/logging.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

constexpr char kName[] = "TorchInductorBackend";
using Table = CompiledBackend::Table;

}  // namespace

void CompiledBackend::Release() {
  background_ = nullptr;
  reset_ = nullptr;
  if (table_ != nullptr) history_ = table_->history();
  table_ = nullptr;
}

absl::Status CompiledBackend::Prepare(BuildContext* context) {
  is_prepared_ = false;
  if (context != nullptr) {
    settings_ = source()->compile_settings();
    if (settings_ == nullptr)
      settings_ = std::make_shared<const CompileSettings>();
    has_version_ = false;
    *changes_state_ = false;
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
  if (context != nullptr) {
    // Before the hash: what changes it in between is found.
    AITUNE_ASSIGN_OR_RETURN(state_number_, source()->StateNumber());
  } else {
    AITUNE_ASSIGN_OR_RETURN(const bool is_new, HasNewState());
    std::lock_guard<std::mutex> lock(kept_mutex_);
    if (is_new) kept_.clear();
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
    table_->Remember(history_);
    AITUNE_ASSIGN_OR_RETURN(const auto anew, LoadKept());
    for (const std::vector<InputDescription>& wanted : anew) {
      const absl::Status made =
          CatchExceptions(absl::StatusCode::kInternal, "compiling",
                          [&] { return CompileAnew(wanted); });
      if (!made.ok())
        Log(LogChannel::kWarning,
            absl::StrCat(source()->name(), " will be compiled in a call: ",
                         std::string(made.message())));
    }
  } else {
    history_.clear();
    kept_.clear();
    notes_.Clear();
    AITUNE_RETURN_IF_ERROR(CompileForTypicalCall());
    for (const Sample& sample : context->samples()) {
      AITUNE_RETURN_IF_ERROR(Find(Values(sample), OnMiss::kCompile).status());
    }
  }
  reset_ = std::make_unique<ResetRegistration>([this] {
    if (!HasTraceCompiler()) return;  // Nothing could be made again.
    table_->Reset([this] {
      std::lock_guard<std::mutex> lock(kept_mutex_);
      kept_.clear();
    });
  });
  background_ = std::make_unique<BackgroundBuilds>(
      source()->name(),
      [this](const Sample& sample) -> absl::Status {
        const ScopedThreadCount threads = Threads();
        AITUNE_ASSIGN_OR_RETURN(ValueList arguments,
                                source()->Unflatten(Values(sample)));
        if (device().is_gpu()) arguments = ToDevice(arguments, device());
        AITUNE_ASSIGN_OR_RETURN(const Sample call,
                                source()->Flatten(arguments));
        return Find(Values(call), OnMiss::kCompile).status();
      },
      background_counts_);
  is_prepared_ = true;
  return absl::OkStatus();
}

void CompiledBackend::CompileLater(absl::Span<const RegionValue> inputs) const {
  background_->Ask([&] {
    Sample copy;
    for (const RegionValue& input : inputs) {
      const c10::IValue value = ToIValue(input);
      copy.push_back(
          value.isTensor() && value.toTensor().defined()
              ? ToOwned(value.toTensor().to(
                    at::Device(at::kCPU), value.toTensor().scalar_type(),
                    /*non_blocking=*/false, /*copy=*/true))
              : OwnedValue{input, nullptr});
    }
    return copy;
  });
}

absl::Status CompiledBackend::CompileForTypicalCall() {
  if (asked() == nullptr) return absl::OkStatus();
  AITUNE_ASSIGN_OR_RETURN(ValueList arguments,
                          TypicalArguments(*asked(), settings_->seed));
  if (device().is_gpu()) arguments = ToDevice(arguments, device());
  AITUNE_ASSIGN_OR_RETURN(const Sample call, source()->Flatten(arguments));
  return Find(Values(call), OnMiss::kCompile).status();
}

absl::Status CompiledBackend::CompileAnew(
    std::vector<InputDescription> wanted) {
  ValueList leaves = InputsOf(wanted);
  if (device().is_gpu()) leaves = ToDevice(leaves, device());
  for (InputDescription& input : wanted) {
    if (input.kind == InputKind::kTensor) input.device = device().ToString();
  }
  Sample inputs;
  for (const c10::IValue& leaf : leaves.values())
    inputs.push_back(ToOwned(leaf));
  AITUNE_ASSIGN_OR_RETURN(const std::vector<CallInput> call,
                          CallInputsOf(Values(inputs)));
  CompileRequest request;
  request.inputs = std::move(wanted);
  request.version = table_->version_count();
  AITUNE_ASSIGN_OR_RETURN(Table::Version version,
                          Compile(request, Values(inputs), call));
  table_->Insert(std::move(version));
  return absl::OkStatus();
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
  ++counters_->calls;
  const ScopedThreadCount threads = Threads();
  const Stance stance = CurrentStance();
  if (stance == Stance::kForceEager) return RunEager(inputs);
  if (IsWholeCall(inputs)) {
    if (stance != Stance::kFailOnRecompile) return RunEager(inputs);
    return absl::FailedPreconditionError(
        absl::StrCat(source()->name(),
                     " has no version for arguments that are nested in another "
                     "way than those it was compiled for"));
  }
  if (*changes_state_) return RunEager(inputs);
  // Beyond the limit of versions a compilation only says so.
  const bool later =
      stance == Stance::kEagerWhileCompiling && !table_->is_full();
  const bool compiles =
      stance == Stance::kDefault || stance == Stance::kEagerWhileCompiling;
  const auto compiled = Find(inputs, later      ? OnMiss::kNothing
                                     : compiles ? OnMiss::kCompile
                                                : OnMiss::kFail);
  // Also where a call has changed it since, or meanwhile.
  if (*changes_state_) return RunEager(inputs);
  if (!compiled.ok()) {
    if (stance == Stance::kEagerWhileCompiling ||
        (stance == Stance::kEagerOnRecompile &&
         absl::IsFailedPrecondition(compiled.status())))
      return RunEager(inputs);
    return compiled.status();
  }
  if (*compiled == nullptr) {
    if (later) {
      AITUNE_ASSIGN_OR_RETURN(const std::vector<CallInput> call,
                              CallInputsOf(inputs));
      if (!table_->Knows(call)) CompileLater(inputs);
    }
    return RunEager(inputs);
  }
  const ScopedActivity activity(ScopedActivity::Kind::kCall);
  const ScopedMemoryBudget budget(memory_limit_.get());
  AITUNE_RETURN_IF_ERROR(memory_limit_->Check());
  absl::StatusOr<std::vector<OwnedValue>> leaves =
      (*compiled)->RunLeaves(inputs, constant_check());
  if (!leaves.ok()) {
    // The memory for its results has come back.
    memory_limit_->Check().IgnoreError();
    return leaves;
  }
  return source()->FlattenResult((*compiled)->output_structure(),
                                 *std::move(leaves));
}

absl::StatusOr<std::unique_ptr<BoundCall>> CompiledBackend::Bind(
    absl::Span<const RegionValue> inputs,
    absl::Span<const RegionValue> outputs) const {
  if (config_.autocast_enabled)
    return absl::UnimplementedError("autocast converts the outputs");
  const Stance stance = CurrentStance();
  if (stance != Stance::kDefault && stance != Stance::kFailOnRecompile)
    return absl::UnimplementedError(
        "the stance may have LibTorch run the call");
  if (device().is_gpu() && !DeviceOf(inputs).is_gpu())
    return absl::UnimplementedError(
        absl::StrCat("the inputs are in memory of the CPU, the model runs on ",
                     device().ToString()));
  if (IsWholeCall(inputs))
    return absl::UnimplementedError(
        "LibTorch runs the call: its arguments are nested in another way");
  const ScopedThreadCount scope = Threads();
  const absl::Status outdated = absl::UnimplementedError(
      "LibTorch runs the call: another one changes the model's state");
  if (*changes_state_) return outdated;
  const auto found = Find(
      inputs, stance == Stance::kDefault ? OnMiss::kCompile : OnMiss::kFail);
  if (*changes_state_) return outdated;
  AITUNE_ASSIGN_OR_RETURN(const std::shared_ptr<CompiledModel> compiled, found);
  if (compiled == nullptr)
    return absl::UnimplementedError(
        "LibTorch runs the call: the limit of compiled versions is reached");
  AITUNE_ASSIGN_OR_RETURN(std::unique_ptr<BoundCall> call,
                          compiled->Bind(inputs, outputs, constant_check()));
  return std::make_unique<CountedBoundCall>(std::move(call), asked_threads(),
                                            counters_, memory_limit_,
                                            changes_state_);
}

absl::StatusOr<std::vector<OwnedValue>> CompiledBackend::RunEager(
    absl::Span<const RegionValue> inputs) const {
  ++counters_->eager_calls;
  AITUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const Model> model,
                          EagerModel());
  const bool watches = source()->HasState() && !*changes_state_;
  const auto held = source()->HoldState();
  auto result = source()->Call(
      inputs, model, device(),
      [&](const ValueList& arguments) { return model->RunEager(arguments); });
  // A call that raises may have changed it before.
  if (watches) AITUNE_RETURN_IF_ERROR(HasNewState().status());
  return result;
}

absl::StatusOr<bool> CompiledBackend::HasNewState() const {
  AITUNE_ASSIGN_OR_RETURN(const int64_t number, source()->StateNumber());
  if (number == state_number_) return false;
  *changes_state_ = true;
  return true;
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
  return ScopedThreadCount(asked_threads() > 0 ? asked_threads()
                                               : ThreadCount());
}

absl::StatusOr<std::unique_ptr<CompiledModel>> CompiledBackend::BuildFor(
    absl::Span<const InputDescription> wanted,
    const ValueList& arguments) const {
  const auto held = source()->HoldState();
  AITUNE_ASSIGN_OR_RETURN(const bool is_new, HasNewState());
  if (is_new)
    return absl::AbortedError(absl::StrCat(
        source()->name(),
        ": the model's state has changed since it was built; build it again"));
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
  AITUNE_RETURN_IF_ERROR(CheckCallLimit());
  // What a call has begun to compile is for later calls too.
  const ScopedCallLimit without_limit(nullptr);
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
  if (is_prepared_ && options_.check_versions) {
    AITUNE_ASSIGN_OR_RETURN(const bool is_right,
                            IsRight(arguments, **compiled));
    if (!is_right)
      return Table::Version{nullptr, std::move(inputs),
                            ConstraintsOfVersion((*compiled)->plan())};
  }
  AITUNE_RETURN_IF_ERROR(CheckGraph(**compiled));
  if (const std::string reason = (*compiled)->GraphReason();
      options_.cudagraphs && !reason.empty())
    Log(LogChannel::kPerfHints, absl::StrCat(source()->name(), ": ", reason));
  const std::shared_ptr<CompiledModel> version = Loaded(*std::move(compiled));
  if (is_prepared_) ++counters_->recompilations;
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

absl::StatusOr<bool> CompiledBackend::IsRight(const ValueList& arguments,
                                              CompiledModel& version) const {
  const auto held = source()->HoldState();
  AITUNE_ASSIGN_OR_RETURN(const bool is_new, HasNewState());
  if (is_new) return true;  // LibTorch runs all calls from now on
  VersionCheck check{*model(), [this] { return EagerModelForOnce(); }, device(),
                     constant_check()};
  check.unchecked_indices =
      OptionsOfVersion(*settings_, options_, device()).uncheckedIndices;
  if (RoundsProducts()) check.narrowed_to = DataType::kFloat16;
  check.min_cosine = options_.min_cosine;
  std::string problem;
  const absl::Status compared =
      CatchExceptions(absl::StatusCode::kInternal, "comparing with eager",
                      [&]() -> absl::Status {
                        AITUNE_ASSIGN_OR_RETURN(
                            problem, CheckVersion(check, arguments, version));
                        return absl::OkStatus();
                      });
  if (!compared.ok())
    Log(LogChannel::kWarning,
        absl::StrCat(source()->name(),
                     ": a version that a call has compiled could not be "
                     "compared with eager: ",
                     std::string(compared.message())));
  if (problem.empty()) return true;
  notes_.AddWrong(problem, source()->name());
  if (!config_.fullgraph) return false;
  return absl::InternalError(
      absl::StrCat("the version for this call differs from eager, and "
                   "fullgraph=True lets LibTorch not run it: ",
                   problem));
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
  if (shared->report().LibTorchRunsAll() && source()->HasState())
    *changes_state_ = true;
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

namespace {

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
