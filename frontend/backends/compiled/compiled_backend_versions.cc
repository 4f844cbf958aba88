// How a compiling backend comes by a version: which inputs it is for, how it is
// compiled, compared with eager and repaired.
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "frontend/backends/call_leaves.h"
#include "frontend/backends/compiled/compiled_backend_class.h"
#include "frontend/backends/compiled/version_check.h"
#include "frontend/backends/compiled/version_inputs.h"
#include "frontend/compiled_model/compile_trace.h"
#include "frontend/trace/leaf_value.h"
#include "frontend/values/gpu.h"
#include "frontend/values/torch_util.h"
#include "runtime/control/call_limit.h"
#include "runtime/control/control.h"
#include "runtime/logging/logging.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Table = CompiledBackend::Table;

}  // namespace

absl::Status CompiledBackend::CompileForTypicalCall() {
  if (asked() == nullptr) return absl::OkStatus();
  AITUNE_ASSIGN_OR_RETURN(ValueList arguments,
                          TypicalArguments(*asked(), settings_->seed));
  if (device().is_gpu()) arguments = ToDevice(arguments, device());
  AITUNE_ASSIGN_OR_RETURN(const Sample call, source()->Flatten(arguments));
  return Find(Values(call), OnMiss::kCompile).status();
}

bool CompiledBackend::AskedForAny(absl::Span<const Sample> samples) const {
  const std::vector<InputSpec>& specs = asked()->specs;
  return std::any_of(samples.begin(), samples.end(), [&](const Sample& sample) {
    const absl::StatusOr<ValueList> arguments =
        source()->Unflatten(Values(sample));
    if (!arguments.ok() || !SymbolSizes(specs, *arguments).ok()) return false;
    const absl::StatusOr<std::vector<InputSpec>> given = SpecsOf(*arguments);
    return given.ok() &&
           std::equal(specs.begin(), specs.end(), given->begin(), given->end(),
                      [](const InputSpec& a, const InputSpec& b) {
                        return a.kind == b.kind && a.dtype == b.dtype;
                      });
  });
}

absl::Status CompiledBackend::CompileAnew(
    std::vector<InputDescription> wanted) {
  const ValueList leaves = ToDevice(InputsOf(wanted), device());
  for (InputDescription& input : wanted) {
    if (input.kind == InputKind::kTensor) input.device = device().ToString();
  }
  Sample inputs;
  for (const c10::IValue& leaf : leaves.values())
    inputs.push_back(ToOwned(leaf));
  // The call refers to their sizes.
  const std::vector<RegionValue> values = Values(inputs);
  AITUNE_ASSIGN_OR_RETURN(const std::vector<CallInput> call,
                          CallInputsOf(values));
  CompileRequest request;
  request.inputs = std::move(wanted);
  request.version = table_->version_count();
  AITUNE_ASSIGN_OR_RETURN(Table::Version version,
                          Compile(request, values, call));
  table_->Insert(std::move(version));
  return absl::OkStatus();
}

absl::StatusOr<Table::Version> CompiledBackend::Compile(
    const CompileRequest& request, absl::Span<const RegionValue> leaves,
    absl::Span<const CallInput> call) const {
  const ScopedActivity activity(ScopedActivity::Kind::kCompile);
  AITUNE_RETURN_IF_ERROR(CheckCallLimit());
  // What a call has begun to compile is for later calls too.
  const ScopedCallLimit without_limit(nullptr);
  const absl::Cleanup count = [this, start = std::chrono::steady_clock::now()] {
    if (!is_prepared_) return;
    counters_->recompiling_nanoseconds +=
        std::chrono::nanoseconds(std::chrono::steady_clock::now() - start)
            .count();
  };
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
    KeptVersion kept = Keep(version, inputs, cache_.get());
    std::lock_guard<std::mutex> lock(kept_mutex_);
    kept_.push_back(std::move(kept));
  }
  if (settings_->built)
    settings_->built(absl::StrCat(name_, "_", key_), version,
                     /*repaired=*/false);
  return Table::Version{version, std::move(inputs),
                        ConstraintsOfVersion(version->plan())};
}

absl::StatusOr<std::unique_ptr<CompiledModel>> CompiledBackend::BuildFor(
    absl::Span<const InputDescription> wanted,
    const ValueList& arguments) const {
  const auto held = source()->HoldState();
  // The model is traced with the state that it has then.
  AITUNE_RETURN_IF_ERROR(source()->HoldSharedState(Device()).status());
  AITUNE_ASSIGN_OR_RETURN(const bool is_new, HasNewState());
  if (is_new)
    return absl::AbortedError(absl::StrCat(
        source()->name(),
        ": the model's state has changed since it was built; build it again"));
  // Of weights, which a trace makes and which stay.
  const ScopedMemoryBudget budget(memory_limit_.get());
  BuildOptions build;
  build.compile = OptionsOfVersion(*settings_, options_, device());
  build.trace.seed = settings_->seed;
  build.trace.libtorch_only = options_.libtorch_only;
  build.trace.outlines = !options_.libtorch_only;
  build.cuda_graphs = options_.cudagraphs;
  build.cache = cache_.get();
  build.keep_artifact = true;
  build.model_sha256 = model_id_;
  build.compile.leftOut = notes_.wrong();
  const bool is_first = !std::exchange(has_version_, true);
  {
    const std::lock_guard<std::mutex> lock(kept_mutex_);
    build.compile.mayQuantizeNone = !is_first || !kept_.empty();
  }
  if (!is_first) {
    // Made while somebody waits for a call.
    build.compile.progress = nullptr;
    build.compile.tuning.budgetSeconds = 0;
  }
  return BuildVersion(
      {*model(), source()->name(), asked(), is_first, wanted, arguments},
      build);
}

absl::StatusOr<bool> CompiledBackend::IsRight(const ValueList& arguments,
                                              CompiledModel& version) const {
  const auto held = source()->HoldState();
  AITUNE_ASSIGN_OR_RETURN(const bool is_new, HasNewState());
  if (is_new) return true;  // LibTorch runs all calls from now on
  // Both compiled code and the model, which eager is copied from and whose
  // state is put back after each run.
  AITUNE_RETURN_IF_ERROR(source()->HoldSharedState(device()).status());
  AITUNE_RETURN_IF_ERROR(source()->HoldSharedState(Device()).status());
  VersionCheck check{*model(), [this] { return EagerModelForOnce(); }, device(),
                     constant_check()};
  check.unchecked_indices =
      OptionsOfVersion(*settings_, options_, device()).uncheckedIndices;
  if (RoundsProducts()) check.narrowed_to = DataType::kFloat16;
  check.bound = options_.accuracy_bound;
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
  if (RunsEagerly()) return false;
  const ScopedThreadCount threads = Threads();
  AITUNE_ASSIGN_OR_RETURN(const std::shared_ptr<CompiledModel> version,
                          Find(inputs, OnMiss::kFail));
  if (version == nullptr) return false;  // LibTorch ran the call
  const ScopedActivity activity(ScopedActivity::Kind::kCompile);
  AITUNE_ASSIGN_OR_RETURN(const auto held, source()->HoldSharedState(Device()));
  AITUNE_ASSIGN_OR_RETURN(ValueList arguments, source()->Unflatten(inputs));
  if (device().is_gpu()) arguments = ToCpu(arguments);
  AITUNE_ASSIGN_OR_RETURN(
      const bool changed,
      version->Repair(arguments, settings_->options.progress));
  UseAllocator(*version);
  AITUNE_RETURN_IF_ERROR(CheckGraph(*version));
  {
    std::lock_guard<std::mutex> lock(kept_mutex_);
    for (KeptVersion& kept : kept_) {
      if (kept.loaded.lock() != version) continue;
      kept = Keep(version, std::move(kept.inputs), cache_.get());
    }
  }
  if (settings_->built)
    settings_->built(absl::StrCat(name_, "_", key_), version,
                     /*repaired=*/true);
  return changed;
}

std::shared_ptr<CompiledModel> CompiledBackend::Loaded(
    std::unique_ptr<CompiledModel> version) const {
  std::shared_ptr<CompiledModel> shared = std::move(version);
  if (shared->report().LibTorchRunsAll() && source()->HasState())
    *changes_state_ = true;
  {
    std::lock_guard<std::mutex> lock(loaded_mutex_);
    // Versions that a reset let go have nothing more to tell.
    loaded_.erase(
        std::remove_if(loaded_.begin(), loaded_.end(),
                       [](const auto& version) { return version.expired(); }),
        loaded_.end());
    loaded_.push_back(shared);
  }
  UseAllocator(*shared);
  return shared;
}

absl::Status CompiledBackend::CheckGraph(const CompiledModel& compiled) const {
  // That LibTorch runs its operators is what was asked for.
  if (!options_.libtorch_only) notes_.Add(compiled.report(), source()->name());
  return config_.fullgraph ? CheckFullGraph(compiled.report())
                           : absl::OkStatus();
}

}  // namespace aitune::frontend
