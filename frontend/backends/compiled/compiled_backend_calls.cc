// The calls of a compiling backend: each has the version that fits it run, or
// LibTorch.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/backends/call_leaves.h"
#include "frontend/backends/compiled/compiled_backend_class.h"
#include "frontend/trace/leaf_value.h"
#include "frontend/values/torch_util.h"
#include "runtime/control/call_limit.h"
#include "runtime/control/control.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// Seconds; a larger number is no limit that anybody sees.
constexpr double kLongestWait = 1e6;

}  // namespace

absl::StatusOr<std::vector<OwnedValue>> CompiledBackend::Run(
    absl::Span<const RegionValue> inputs) const {
  ++counters_->calls;
  const ScopedThreadCount threads = Threads();
  const Stance stance = CurrentStance();
  if (stance == Stance::kForceEager || RunsEagerly() ||
      source()->NeedsOwnArguments())
    return RunEager(inputs);
  if (IsWholeCall(inputs)) {
    if (stance != Stance::kFailOnRecompile) return RunEager(inputs);
    return absl::FailedPreconditionError(
        absl::StrCat(source()->name(),
                     " has no version for arguments that are nested in another "
                     "way than those it was compiled for"));
  }
  if (*changes_state_) return RunEager(inputs);
  const bool compiles =
      stance == Stance::kDefault || stance == Stance::kEagerWhileCompiling;
  const bool is_over = compiles && IsCompilingOver();
  // A child of the process that built the backend has no thread for it. Beyond
  // the limit of versions a compilation only says so.
  const bool in_background = compiles && !is_over &&
                             (stance == Stance::kEagerWhileCompiling ||
                              ((options_.recompile_wait_seconds >= 0 ||
                                CurrentCallLimit() != nullptr) &&
                               !background_->is_of_parent())) &&
                             !table_->is_full();
  const bool later = in_background && stance == Stance::kEagerWhileCompiling;
  const bool waits = in_background && !later;
  auto compiled = Find(inputs, in_background || is_over ? OnMiss::kNothing
                               : compiles               ? OnMiss::kCompile
                                                        : OnMiss::kFail);
  if (waits && compiled.ok() && *compiled == nullptr) {
    compiled = FindInTime(inputs);
    // LibTorch would need longer still.
    AITUNE_RETURN_IF_ERROR(CheckCallLimit());
  }
  // Also where a call has changed it since, or meanwhile.
  if (*changes_state_) return RunEager(inputs);
  if (!compiled.ok()) {
    // A call that eager refuses may have changed the state before.
    if ((compiles && source()->HasState()) ||
        stance == Stance::kEagerWhileCompiling ||
        (stance == Stance::kEagerOnRecompile &&
         absl::IsFailedPrecondition(compiled.status())))
      return RunEager(inputs);
    return compiled.status();
  }
  if (*compiled == nullptr) {
    if (in_background) {
      AITUNE_ASSIGN_OR_RETURN(const std::vector<CallInput> call,
                              CallInputsOf(inputs));
      if (!table_->Knows(call)) {
        ++background_counts_.calls;
        if (later) CompileLater(inputs);
      }
    }
    return RunEager(inputs);
  }
  AITUNE_ASSIGN_OR_RETURN(const bool writes_shared,
                          (*compiled)->WritesSharedMemory(inputs));
  if (writes_shared) return RunEager(inputs);
  const ScopedActivity activity(ScopedActivity::Kind::kCall);
  const ScopedMemoryBudget budget(memory_limit_.get());
  AITUNE_RETURN_IF_ERROR(memory_limit_->Check());
  AITUNE_ASSIGN_OR_RETURN(const auto held, source()->HoldSharedState(device()));
  absl::StatusOr<std::vector<OwnedValue>> leaves =
      (*compiled)->RunLeaves(inputs, constant_check());
  if (!leaves.ok()) {
    // The memory for its results has come back.
    memory_limit_->Check().IgnoreError();
    return leaves;
  }
  if (options_.libtorch_only && !(*compiled)->HasGraph())
    ++counters_->eager_calls;
  return source()->FlattenResult((*compiled)->output_structure(),
                                 *std::move(leaves));
}

absl::StatusOr<std::unique_ptr<BoundCall>> CompiledBackend::Bind(
    absl::Span<const RegionValue> inputs,
    absl::Span<const RegionValue> outputs) const {
  if (config_.autocast_enabled)
    return absl::UnimplementedError("autocast converts the outputs");
  if (RunsEagerly()) return absl::UnimplementedError(kRunsEagerly);
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
  const auto found = Find(inputs, stance != Stance::kDefault ? OnMiss::kFail
                                  : IsCompilingOver() ? OnMiss::kNothing
                                                      : OnMiss::kCompile);
  if (*changes_state_) return outdated;
  AITUNE_ASSIGN_OR_RETURN(const std::shared_ptr<CompiledModel> compiled, found);
  if (compiled == nullptr)
    return absl::UnimplementedError(
        "LibTorch runs the call: the limit of compiled versions, or of the "
        "seconds to compile them, is reached");
  AITUNE_RETURN_IF_ERROR(CheckMemory(*compiled, inputs));
  AITUNE_ASSIGN_OR_RETURN(std::unique_ptr<BoundCall> call,
                          compiled->Bind(inputs, outputs, constant_check()));
  std::function<bool()> is_eager;
  if (options_.libtorch_only)
    is_eager = [version = std::weak_ptr<const CompiledModel>(compiled)] {
      const std::shared_ptr<const CompiledModel> bound = version.lock();
      return bound != nullptr && !bound->HasGraph();
    };
  return std::make_unique<CountedBoundCall>(
      std::move(call), asked_threads(), counters_, memory_limit_,
      changes_state_, source(), device(), std::move(is_eager));
}

absl::Status CompiledBackend::CheckMemory(
    const CompiledModel& version, absl::Span<const RegionValue> inputs) const {
  AITUNE_ASSIGN_OR_RETURN(const bool writes_shared,
                          version.WritesSharedMemory(inputs));
  if (!writes_shared) return absl::OkStatus();
  return absl::UnimplementedError(
      "LibTorch runs the call: an input that the program writes to shares "
      "memory with another");
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

absl::StatusOr<std::shared_ptr<CompiledModel>> CompiledBackend::FindInTime(
    absl::Span<const RegionValue> inputs) const {
  AITUNE_RETURN_IF_ERROR(CheckCallLimit());
  AITUNE_ASSIGN_OR_RETURN(const std::vector<CallInput> call,
                          CallInputsOf(inputs));
  std::optional<CallLimit::TimePoint> end;
  if (options_.recompile_wait_seconds >= 0)
    end = std::chrono::steady_clock::now() +
          std::chrono::duration_cast<std::chrono::steady_clock::duration>(
              std::chrono::duration<double>(
                  std::min(options_.recompile_wait_seconds, kLongestWait)));
  bool was_asked = false;
  const auto is_known = [&] { return table_->Knows(call); };
  while (!was_asked && !is_known() && !IsCompilingOver() &&
         !table_->is_full()) {
    // While another version is made, this one is not yet asked for.
    was_asked = CompileLater(inputs);
    if (!background_->Wait(end, is_known)) break;
  }
  return Find(inputs, OnMiss::kNothing);
}

bool CompiledBackend::IsCompilingOver() const {
  return options_.recompile_total_seconds >= 0 &&
         counters_->recompiling_seconds() >= options_.recompile_total_seconds;
}

bool CompiledBackend::CompileLater(absl::Span<const RegionValue> inputs) const {
  return background_->Ask([&] {
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

absl::StatusOr<std::vector<OwnedValue>> CompiledBackend::RunEager(
    absl::Span<const RegionValue> inputs) const {
  ++counters_->eager_calls;
  const ScopedMemoryBudget budget(memory_limit_.get());
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
  if (source()->SharesState()) return false;
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

}  // namespace aitune::frontend
