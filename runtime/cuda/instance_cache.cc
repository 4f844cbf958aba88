#include "runtime/cuda/instance_cache.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <utility>

#include "runtime/status/status_macros.h"

namespace aitune::cuda {
namespace {

// Combinations of sizes kept ready, each with an arena and graphs of its own:
// so many always, and more of them where they take little memory together. The
// body of a decoder's loop has one for each length that it comes by.
constexpr size_t kAlwaysKept = 16;
constexpr size_t kMostKept = 512;
constexpr int64_t kMemoryOfMore = int64_t{64} << 20;  // bytes

bool HasChecks(const LoadedPlan& plan) {
  const auto& steps = plan.plan().steps();
  return std::any_of(steps.begin(), steps.end(),
                     [](const Step& step) { return !step.checks().empty(); });
}

}  // namespace

InstanceCache::InstanceCache(const Device& device, const LoadedPlan& plan,
                             const Kernels& kernels, AfterCall next,
                             Algorithms algorithms)
    : device_(device),
      plan_(plan),
      kernels_(kernels),
      next_(next),
      algorithms_(algorithms),
      has_checks_(HasChecks(plan)) {}

std::shared_ptr<const CudaInstance> InstanceCache::Find(const Key& key) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.key != key) continue;
    entry.last_use = ++uses_;
    return entry.instance;
  }
  return nullptr;
}

void InstanceCache::KeepFailure(const CudaInstance& evicted) {
  if (!has_checks_) return;
  // What its calls find is not lost with it.
  evicted.Wait();
  absl::Status failure = evicted.TakeFailedCheck();
  std::lock_guard<std::mutex> lock(mutex_);
  if (evicted_failure_.ok()) evicted_failure_ = std::move(failure);
}

absl::StatusOr<InstanceCache::Lent> InstanceCache::TakeForGraph(
    std::shared_ptr<const CudaInstance> instance, CUstream stream) {
  const Driver& driver = device_.driver();
  AITUNE_ASSIGN_OR_RETURN(const RecordedGraph recorded,
                          GraphRecordedOn(driver, stream));
  const StreamKey key = KeyWhileRecording(stream);
  Lent lent;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto known =
        std::find_if(lent_.begin(), lent_.end(), [&](const Lent& other) {
          return other.instance == instance && other.context->stream == key &&
                 other.recording == recorded.recording;
        });
    if (known != lent_.end()) {
      lent = std::move(*known);
      lent_.erase(known);
      return lent;
    }
  }
  AITUNE_ASSIGN_OR_RETURN(lent.is_gone, WatchGraph(driver, recorded.graph));
  AITUNE_ASSIGN_OR_RETURN(lent.context, instance->TakeForGraph());
  lent.context->stream = key;
  lent.instance = std::move(instance);
  lent.recording = recorded.recording;
  return lent;
}

void InstanceCache::Lend(Lent lent) {
  std::lock_guard<std::mutex> lock(mutex_);
  lent_.push_back(std::move(lent));
}

void InstanceCache::TakeBack() {
  std::vector<Lent> gone;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto first =
        std::partition(lent_.begin(), lent_.end(), [](const Lent& lent) {
          return !lent.is_gone->load(std::memory_order_acquire);
        });
    std::move(first, lent_.end(), std::back_inserter(gone));
    lent_.erase(first, lent_.end());
  }
  for (Lent& lent : gone) {
    lent.instance->GiveBack(std::move(lent.context));
    // It was given up since.
    if (lent.instance.use_count() == 1) KeepFailure(*lent.instance);
  }
}

void InstanceCache::Wait() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const Entry& entry : entries_) entry.instance->Wait();
}

void InstanceCache::FreeUnused() {
  TakeBack();
  std::vector<std::shared_ptr<const CudaInstance>> evicted;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (size_t i = entries_.size(); i-- > 0;) {
      // Calls hold a reference, which they get under the lock; and so do the
      // graphs of callers.
      if (entries_[i].instance.use_count() > 1) continue;
      evicted.push_back(std::move(entries_[i].instance));
      entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  for (const auto& instance : evicted) KeepFailure(*instance);
}

bool InstanceCache::IsFull() const {
  if (entries_.size() < kAlwaysKept) return false;
  if (entries_.size() >= kMostKept) return true;
  MemoryUse use;
  for (const Entry& entry : entries_) use += entry.instance->Memory();
  return use.total() > kMemoryOfMore;
}

absl::StatusOr<std::shared_ptr<const CudaInstance>> InstanceCache::Get(
    const Key& key) {
  if (std::shared_ptr<const CudaInstance> found = Find(key)) return found;
  // Libraries may allocate.
  const RelaxedCapture relaxed(device_.driver());
  std::lock_guard<std::mutex> creation_lock(creation_mutex_);
  if (std::shared_ptr<const CudaInstance> found = Find(key)) return found;
  std::vector<std::shared_ptr<const CudaInstance>> evicted;
  {
    // First, so that their memory serves the new one. A call in progress keeps
    // one alive; memory still in use by the GPU is freed when that is done.
    std::lock_guard<std::mutex> lock(mutex_);
    while (IsFull()) {
      auto oldest = std::min_element(entries_.begin(), entries_.end(),
                                     [](const Entry& a, const Entry& b) {
                                       return a.last_use < b.last_use;
                                     });
      evicted.push_back(std::move(oldest->instance));
      entries_.erase(oldest);
    }
  }
  for (const auto& instance : evicted) KeepFailure(*instance);
  evicted.clear();
  AITUNE_ASSIGN_OR_RETURN(
      std::shared_ptr<const CudaInstance> instance,
      CudaInstance::Create(device_, plan_, kernels_,
                           /*initialization=*/false, next_, algorithms_, key));
  std::lock_guard<std::mutex> lock(mutex_);
  entries_.push_back({key, instance, ++uses_});
  return instance;
}

absl::Status InstanceCache::TakeFailedCheck() {
  if (!has_checks_) return absl::OkStatus();
  std::lock_guard<std::mutex> lock(mutex_);
  if (!evicted_failure_.ok()) {
    return std::exchange(evicted_failure_, absl::OkStatus());
  }
  for (const Entry& entry : entries_) {
    AITUNE_RETURN_IF_ERROR(entry.instance->TakeFailedCheck());
  }
  for (const Lent& lent : lent_) {
    AITUNE_RETURN_IF_ERROR(lent.instance->TakeFailedCheck(*lent.context));
  }
  return absl::OkStatus();
}

void InstanceCache::PoisonMemory(CUstream stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const Entry& entry : entries_) entry.instance->PoisonMemory(stream);
}

MemoryUse InstanceCache::Memory() {
  MemoryUse use;
  std::lock_guard<std::mutex> lock(mutex_);
  std::set<const CudaInstance*> instances;
  for (const Entry& entry : entries_) instances.insert(entry.instance.get());
  // Of which some were given up since.
  for (const Lent& lent : lent_) instances.insert(lent.instance.get());
  for (const CudaInstance* instance : instances) use += instance->Memory();
  return use;
}

}  // namespace aitune::cuda
