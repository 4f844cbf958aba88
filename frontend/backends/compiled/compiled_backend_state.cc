// What is stored and reported of a compiling backend.
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/backends/call_leaves.h"
#include "frontend/backends/compiled/compiled_backend_class.h"
#include "frontend/backends/compiled/learnt_sizes.h"
#include "frontend/backends/compiled/version_inputs.h"
#include "frontend/compiled_model/artifact.h"
#include "frontend/compiled_model/compile_trace.h"
#include "frontend/compiled_model/model_signature.h"
#include "frontend/compiled_model/replace_weights.h"
#include "frontend/compiled_model/time_steps.h"
#include "runtime/logging/logging.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {

BackendUsage CompiledBackend::Usage() const {
  BackendUsage usage;
  usage.calls = counters_->calls;
  usage.eager_calls = counters_->eager_calls;
  usage.recompilations = counters_->recompilations;
  usage.background_builds = background_counts_.builds;
  usage.background_failures = background_counts_.failures;
  usage.background_pending = background_counts_.pending;
  for (const auto& loaded : LoadedVersions()) {
    for (const CompiledModel* version : loaded->versions()) {
      ++usage.versions;
      if (version->cache().outcome == CacheReport::Outcome::kHit)
        ++usage.cache_hits;
      usage.memory_bytes += version->MemoryInBytes();
      usage.eager_parts += version->EagerParts();
    }
  }
  return usage;
}

MemoryUse CompiledBackend::Memory() const {
  MemoryUse use = TorchBackend::Memory();
  for (const auto& loaded : LoadedVersions()) {
    for (const CompiledModel* version : loaded->versions())
      use += version->Memory();
  }
  return use;
}

void CompiledBackend::SetAllocator(
    std::shared_ptr<const HostAllocator> allocator) {
  const std::lock_guard<std::mutex> lock(allocator_mutex_);
  allocator_ = std::move(allocator);
  for (const auto& loaded : LoadedVersions()) loaded->SetAllocator(allocator_);
}

void CompiledBackend::UseAllocator(const CompiledModel& version) const {
  const std::lock_guard<std::mutex> lock(allocator_mutex_);
  if (allocator_ != nullptr) version.SetAllocator(allocator_);
}

void CompiledBackend::FreeKeptMemory() const {
  for (const auto& loaded : LoadedVersions()) {
    for (const CompiledModel* version : loaded->versions())
      version->FreeKeptMemory();
  }
}

absl::StatusOr<std::vector<StepTime>> CompiledBackend::Profile(
    absl::Span<const RegionValue> inputs, int repeats) const {
  const Stance stance = CurrentStance();
  if (stance == Stance::kForceEager)
    return absl::UnimplementedError("the stance has LibTorch run the call");
  if (RunsEagerly()) return absl::UnimplementedError(kRunsEagerly);
  if (IsWholeCall(inputs))
    return absl::UnimplementedError(
        "LibTorch runs the call: its arguments are nested in another way");
  const absl::Status outdated = absl::UnimplementedError(
      "LibTorch runs the call: another one changes the model's state");
  if (*changes_state_) return outdated;
  const ScopedThreadCount threads = Threads();
  AITUNE_ASSIGN_OR_RETURN(
      const std::shared_ptr<CompiledModel> compiled,
      Find(inputs, stance == Stance::kFailOnRecompile ? OnMiss::kFail
                                                      : OnMiss::kCompile));
  if (*changes_state_) return outdated;
  if (compiled == nullptr)
    return absl::UnimplementedError(
        "LibTorch runs the call: the limit of compiled versions is reached");
  AITUNE_RETURN_IF_ERROR(CheckMemory(*compiled, inputs));
  const ScopedActivity activity(ScopedActivity::Kind::kCall);
  const ScopedMemoryBudget budget(memory_limit_.get());
  AITUNE_RETURN_IF_ERROR(memory_limit_->Check());
  AITUNE_ASSIGN_OR_RETURN(const auto held, source()->HoldSharedState(device()));
  AITUNE_ASSIGN_OR_RETURN(const ValueList arguments,
                          source()->Unflatten(inputs));
  AITUNE_ASSIGN_OR_RETURN(const std::function<absl::Status()> put_back,
                          source()->SaveArguments(arguments));
  const auto run = [&]() -> absl::StatusOr<std::vector<StepTime>> {
    // Its first run is slower.
    AITUNE_RETURN_IF_ERROR(
        compiled->RunLeaves(inputs, constant_check()).status());
    return TimeSteps(*compiled, arguments, repeats, put_back);
  };
  const absl::StatusOr<std::vector<StepTime>> times = run();
  if (put_back) AITUNE_RETURN_IF_ERROR(put_back());
  return times;
}

std::vector<std::string> CompiledBackend::Notes() const {
  std::vector<std::string> notes = notes_.Texts();
  if (RunsEagerly()) notes.push_back(kRunsEagerly);
  if (*changes_state_)
    notes.push_back(
        "LibTorch runs each call: the model changes its own state in a call, "
        "or "
        "in a part, that LibTorch runs, and compiled versions know the state "
        "that they were made for");
  if (options_.libtorch_only) {
    std::set<std::string> reasons;
    for (const auto& version : LoadedVersions())
      reasons.insert(version->GraphReason());
    reasons.erase("");
    notes.insert(notes.end(), reasons.begin(), reasons.end());
  }
  const int64_t calls = table_ == nullptr ? 0 : table_->calls_beyond_limit();
  if (calls > 0)
    notes.push_back(absl::StrCat(
        "LibTorch ran ", calls, calls == 1 ? " call" : " calls",
        " of sizes beyond the limit of ", options_.recompile_limit,
        " compiled versions; raise recompile_limit, or set dynamic to True"));
  if (IsCompilingOver())
    notes.push_back(absl::StrCat(
        "later calls have compiled for ",
        absl::StrFormat("%.1f", counters_->recompiling_seconds()),
        " s, as long as recompile_total_seconds lets them: LibTorch runs what "
        "no version fits"));
  if (const int64_t ran = background_counts_.calls; ran > 0)
    notes.push_back(
        absl::StrCat("LibTorch ran ", ran, ran == 1 ? " call" : " calls",
                     " while versions were compiled in the background: ",
                     background_counts_.builds.load(), " so far"));
  return notes;
}

std::vector<std::shared_ptr<const CompiledModel>>
CompiledBackend::LoadedVersions() const {
  std::vector<std::shared_ptr<const CompiledModel>> loaded;
  std::lock_guard<std::mutex> lock(loaded_mutex_);
  for (const std::weak_ptr<const CompiledModel>& version : loaded_) {
    if (auto compiled = version.lock()) loaded.push_back(std::move(compiled));
  }
  return loaded;
}

std::vector<Signature> CompiledBackend::Signatures() const {
  std::vector<Signature> signatures;
  for (const auto& compiled : LoadedVersions()) {
    for (const CompiledModel* version : compiled->versions())
      signatures.push_back(SignatureOf(*version, model()->parameters()));
  }
  return signatures;
}

absl::StatusOr<std::vector<std::vector<InputDescription>>>
CompiledBackend::LoadKept() {
  std::lock_guard<std::mutex> lock(kept_mutex_);
  std::vector<Table::Version> versions;
  std::string target;
  if (!kept_.empty()) {
    AITUNE_ASSIGN_OR_RETURN(target, GpuOfArtifact(device()));
  }
  for (const KeptVersion& kept : kept_) {
    absl::StatusOr<ArtifactBlobs> blobs = BlobsOf(kept, cache_.get());
    const bool is_lost = !blobs.ok();
    absl::StatusOr<CompiledParts> parts =
        is_lost ? blobs.status()
                : ReadArtifact(blobs->model, std::move(blobs->constants),
                               *model(), model_id_, target);
    absl::StatusOr<std::unique_ptr<CompiledModel>> made =
        parts.ok()
            ? CompiledModel::FromParts(*model(), *std::move(parts), nullptr,
                                       device(), options_.cudagraphs)
            : parts.status();
    // No longer there, for another machine, or with a trace that depends on the
    // elements of the arguments that it was made with.
    if ((is_lost || absl::IsFailedPrecondition(made.status())) &&
        HasTraceCompiler()) {
      Log(LogChannel::kWarning,
          absl::StrCat(source()->name(), " is compiled anew: ",
                       std::string(made.status().message())));
      std::vector<std::vector<InputDescription>> anew;
      for (KeptVersion& one : kept_) anew.push_back(std::move(one.inputs));
      kept_.clear();
      return anew;
    }
    if (!made.ok()) return made.status();
    std::unique_ptr<CompiledModel> loaded = *std::move(made);
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
  return std::vector<std::vector<InputDescription>>();
}

absl::Status CompiledBackend::SaveMore(BackendStateProto* state,
                                       TorchBackendStateProto* more) const {
  AITUNE_ASSIGN_OR_RETURN(const bool is_new, HasNewState());
  std::lock_guard<std::mutex> lock(kept_mutex_);
  return SaveKept(is_new ? std::vector<KeptVersion>() : kept_, state, more);
}

absl::Status CompiledBackend::SaveMoreFor(const Model& changed,
                                          const std::string& id,
                                          BackendStateProto* state,
                                          TorchBackendStateProto* more) const {
  if (model() == nullptr)
    return absl::FailedPreconditionError(
        "weights can't be replaced while the backend is deactivated");
  AITUNE_ASSIGN_OR_RETURN(const std::string gpu, GpuOfArtifact(device()));
  AITUNE_ASSIGN_OR_RETURN(const bool is_new, HasNewState());
  std::lock_guard<std::mutex> lock(kept_mutex_);
  std::vector<KeptVersion> versions;
  if (!is_new) versions = kept_;
  for (KeptVersion& version : versions) {
    AITUNE_ASSIGN_OR_RETURN(const ArtifactBlobs stored,
                            BlobsOf(version, cache_.get()));
    AITUNE_ASSIGN_OR_RETURN(
        ArtifactBlobs replaced,
        ReplaceWeights(stored, {*model(), model_id_}, {changed, id}, gpu));
    version = {"",
               std::make_shared<const ArtifactBlobs>(std::move(replaced)),
               std::move(version.inputs),
               {},
               nullptr};
  }
  return SaveKept(versions, state, more);
}

absl::Status CompiledBackend::SaveKept(absl::Span<const KeptVersion> versions,
                                       BackendStateProto* state,
                                       TorchBackendStateProto* more) const {
  *more->mutable_compile_options() = ToProto(settings_->options);
  *more->mutable_inputs() = ToProto(spec_);
  more->set_changes_state(*changes_state_);
  *more->mutable_history() =
      ToProto(table_ == nullptr ? history_ : table_->history());
  if (artifacts_ == nullptr) {
    AITUNE_ASSIGN_OR_RETURN(artifacts_, PrivateFolder::Make());
  }
  return SaveVersions(versions, cache_.get(), artifacts_->path(),
                      artifact_count_, state, more);
}

absl::Status CompiledBackend::LoadMore(const BackendStateProto& state,
                                       const TorchBackendStateProto& more) {
  AITUNE_ASSIGN_OR_RETURN(std::vector<KeptVersion> kept,
                          LoadVersions(state, more));
  AITUNE_ASSIGN_OR_RETURN(spec_, FromProto(more.inputs()));
  AITUNE_ASSIGN_OR_RETURN(state_number_, source()->StateNumber());
  *changes_state_ = more.changes_state();
  history_ = FromProto(more.history());
  CompileSettings settings;
  settings.options = FromProto(more.compile_options());
  settings_ = std::make_shared<const CompileSettings>(std::move(settings));
  std::lock_guard<std::mutex> lock(kept_mutex_);
  kept_ = std::move(kept);
  return absl::OkStatus();
}

}  // namespace aitune::frontend
