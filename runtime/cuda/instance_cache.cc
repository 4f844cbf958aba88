#include "runtime/cuda/instance_cache.h"

#include <algorithm>
#include <cstddef>
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
  device_.driver().cuCtxSynchronize();
  absl::Status failure = evicted.TakeFailedCheck();
  std::lock_guard<std::mutex> lock(mutex_);
  if (evicted_failure_.ok()) evicted_failure_ = std::move(failure);
}

void InstanceCache::FreeUnused() {
  std::vector<std::shared_ptr<const CudaInstance>> evicted;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (size_t i = entries_.size(); i-- > 0;) {
      // Calls hold a reference, which they get under the lock.
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
  return absl::OkStatus();
}

void InstanceCache::PoisonMemory(CUstream stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const Entry& entry : entries_) entry.instance->PoisonMemory(stream);
}

MemoryUse InstanceCache::Memory() {
  MemoryUse use;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const Entry& entry : entries_) use += entry.instance->Memory();
  return use;
}

}  // namespace aitune::cuda
