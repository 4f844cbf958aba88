// What a compiling backend counts, and its bound calls, which count too.
#ifndef AITUNE_FRONTEND_BACKENDS_COMPILED_BACKEND_COUNTERS_H_
#define AITUNE_FRONTEND_BACKENDS_COMPILED_BACKEND_COUNTERS_H_

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "frontend/backends/torchscript_source.h"
#include "runtime/backend/bound_call.h"
#include "runtime/control/control.h"
#include "runtime/control/memory_budget.h"
#include "runtime/cpu/thread_pool.h"

namespace aitune::frontend {

// As BackendUsage. Thread-safe.
struct BackendCounters {
  std::atomic<int64_t> calls{0};           // of Infer and of bound calls
  std::atomic<int64_t> eager_calls{0};     // calls of these in eager
  std::atomic<int64_t> recompilations{0};  // versions made after the build
  // Nanoseconds that attempts to make versions took after the build.
  std::atomic<int64_t> recompiling_nanoseconds{0};

  double recompiling_seconds() const {
    return 1e-9 * static_cast<double>(recompiling_nanoseconds);
  }
};

// A bound call of a version, run as the backend runs its calls: with its
// number of threads, as a call of a compiled model, and counted. Allocates
// nothing itself.
class CountedBoundCall : public BoundCall {
 public:
  // `threads` is 0 or less for those of the calling thread. `outdated` tells
  // that the version holds state that the model no longer has; state that it
  // shares with the model of `source`, on `device`, is held while a call
  // runs. `is_eager` says after a call whether LibTorch ran it in eager; null:
  // none is.
  CountedBoundCall(std::unique_ptr<BoundCall> call, int threads,
                   std::shared_ptr<BackendCounters> counters,
                   std::shared_ptr<MemoryBudget> budget,
                   std::shared_ptr<const std::atomic<bool>> outdated,
                   std::shared_ptr<const TorchScriptSource> source,
                   Device device, std::function<bool()> is_eager)
      : call_(std::move(call)),
        threads_(threads),
        counters_(std::move(counters)),
        budget_(std::move(budget)),
        outdated_(std::move(outdated)),
        source_(std::move(source)),
        device_(std::move(device)),
        is_eager_(std::move(is_eager)) {}

  absl::Status Run(void* stream) override {
    const ScopedThreadCount threads(threads_ > 0 ? threads_ : ThreadCount());
    const ScopedActivity activity(ScopedActivity::Kind::kCall);
    const ScopedMemoryBudget budget(budget_.get());
    ++counters_->calls;
    if (*outdated_)
      return absl::FailedPreconditionError(
          "a call has changed the model's state since this one was bound; bind "
          "it again");
    try {
      if (absl::Status status = budget_->Check(); !status.ok()) return status;
      const auto held = source_->HoldSharedState(device_);
      if (!held.ok()) return held.status();
      if (absl::Status status = call_->Run(stream); !status.ok()) return status;
      if (is_eager_ != nullptr && is_eager_()) ++counters_->eager_calls;
      return absl::OkStatus();
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError("a bound call: out of memory");
    } catch (const std::exception& error) {
      return absl::InternalError(
          absl::StrCat("a bound call raised: ", error.what()));
    }
  }

  bool copies_nothing() const override { return call_->copies_nothing(); }

 private:
  const std::unique_ptr<BoundCall> call_;
  const int threads_;
  const std::shared_ptr<BackendCounters> counters_;
  const std::shared_ptr<MemoryBudget> budget_;
  const std::shared_ptr<const std::atomic<bool>> outdated_;
  const std::shared_ptr<const TorchScriptSource> source_;
  const Device device_;  // of the version
  const std::function<bool()> is_eager_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_COMPILED_BACKEND_COUNTERS_H_
