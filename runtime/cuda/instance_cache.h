// The instances of a plan that are kept ready, each for one combination of
// sizes. Internal to this folder.
#ifndef AITUNE_RUNTIME_CUDA_INSTANCE_CACHE_H_
#define AITUNE_RUNTIME_CUDA_INSTANCE_CACHE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/cuda/after_call.h"
#include "runtime/cuda/algorithms.h"
#include "runtime/cuda/cuda_instance.h"
#include "runtime/cuda/device.h"
#include "runtime/executable/loaded_plan.h"
#include "runtime/executable/memory_use.h"

namespace aitune::cuda {

// Thread-safe. The device's context must be current in Get and FreeUnused.
class InstanceCache {
 public:
  // The sizes of the plan's symbols.
  using Key = absl::InlinedVector<int64_t, 16>;

  // `device`, `plan` and `kernels` must outlive this; `next` is what callers
  // queue after a call, `algorithms` are those that libraries may take.
  InstanceCache(const Device& device, const LoadedPlan& plan,
                const Kernels& kernels, AfterCall next, Algorithms algorithms);

  // The instance for these sizes. If there is none, it is made, and those
  // that were used longest ago are given up where there are too many. Errors:
  // those of CudaInstance::Create.
  absl::StatusOr<std::shared_ptr<const CudaInstance>> Get(const Key& key);

  // As CudaExecutable::TakeFailedCheck, also of instances that were given up.
  absl::Status TakeFailedCheck();

  // A context for calls in a graph that the caller records.
  struct Lent {
    std::shared_ptr<const CudaInstance> instance;
    std::unique_ptr<CudaInstance::Context> context;
    uint64_t recording = 0;                            // RecordedGraph's
    std::shared_ptr<const std::atomic<bool>> is_gone;  // the graph
  };
  // The one of an earlier call in the same recording on the same stream, behind
  // which this one runs; otherwise one that nothing uses. `stream` records.
  // Errors: those of GraphRecordedOn, WatchGraph and TakeForGraph.
  absl::StatusOr<Lent> TakeForGraph(
      std::shared_ptr<const CudaInstance> instance, CUstream stream);
  // Keeps it, with its instance, as long as this, or until the graph is gone
  // and TakeBack.
  void Lend(Lent lent);
  // Gives contexts of graphs that are gone back to their instances.
  void TakeBack();

  // Frees instances that no call and no caller's graph is using; calls make
  // them again.
  void FreeUnused();

  // Waits for all calls that are queued.
  void Wait();

  // CudaInstance::PoisonMemory and Memory, of all.
  void PoisonMemory(CUstream stream);
  MemoryUse Memory();

 private:
  struct Entry {
    Key key;
    std::shared_ptr<const CudaInstance> instance;
    uint64_t last_use = 0;
  };

  std::shared_ptr<const CudaInstance> Find(const Key& key);
  // Whether one must go before another is made. The mutex is held.
  bool IsFull() const;
  // Keeps the failed checks of an instance that goes.
  void KeepFailure(const CudaInstance& evicted);

  const Device& device_;
  const LoadedPlan& plan_;
  const Kernels& kernels_;
  const AfterCall next_;
  const Algorithms algorithms_;
  const bool has_checks_;  // some step has

  std::mutex mutex_;              // held for a search only
  absl::Status evicted_failure_;  // the failure of an instance that is gone
  std::vector<Entry> entries_;
  std::vector<Lent> lent_;
  uint64_t uses_ = 0;
  std::mutex creation_mutex_;  // held while an instance is made
};

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_INSTANCE_CACHE_H_
