// The contexts of a CudaInstance: made, taken by calls, given back.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "runtime/control/memory_budget.h"
#include "runtime/cuda/cuda_instance.h"
#include "runtime/status/status_macros.h"

namespace aitune::cuda {

absl::StatusOr<std::unique_ptr<CudaInstance::Context>>
CudaInstance::NewContext() const {
  auto context = std::make_unique<Context>();
  // Counted before the budget is asked, and no longer if there is no context.
  arena_bytes_ += layout_.arena_bytes();
  bool is_made = false;
  const absl::Cleanup uncount = [&] {
    if (!is_made) arena_bytes_ -= layout_.arena_bytes();
  };
  if (layout_.arena_bytes() > 0) AITUNE_RETURN_IF_ERROR(CheckMemoryBudget());
  AITUNE_ASSIGN_OR_RETURN(
      context->arena, DeviceBuffer::Allocate(device_, layout_.arena_bytes()));
  AITUNE_ASSIGN_OR_RETURN(context->done, Event::Create(device_, false));
  AITUNE_ASSIGN_OR_RETURN(
      context->checks,
      MappedBuffer::Allocate(
          device_,
          checks_.count() * static_cast<int64_t>(sizeof(KernelCheck))));
  context->buffers = slots_.fixed;
  for (const BufferSlots::Patch& slot : slots_.checks) {
    context->buffers[slot.slot] =
        static_cast<KernelCheck*>(context->checks.data()) + slot.index;
  }
  for (const BufferSlots::Patch& slot : slots_.arena) {
    context->buffers[slot.slot] = context->arena.data() + slot.offset;
  }
  context->parameters.resize(parameter_count_);
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (launches_[s].function == nullptr) continue;
    void** parameter =
        context->parameters.data() + launches_[s].first_parameter;
    for (int32_t slot = slots_.first[s]; slot < slots_.first[s + 1]; ++slot) {
      *parameter++ = &context->buffers[slot];
    }
    for (const int64_t& symbol : symbols_) {
      *parameter++ = const_cast<int64_t*>(&symbol);
    }
    *parameter = const_cast<int32_t*>(&launches_[s].next_waits);
  }
  for (const LoadedValue& value : plan_.values()) {
    if (value.storage != ValueProto::OPAQUE) continue;
    context->opaques.resize(plan_.values().size());
    break;
  }
  is_made = true;
  return context;
}

absl::Status CudaInstance::TakeFailedCheck(const Context& context) const {
  return checks_.Take({static_cast<KernelCheck*>(context.checks.data()),
                       static_cast<size_t>(checks_.count())},
                      symbols_);
}

absl::Status CudaInstance::TakeFailedCheck() const {
  if (checks_.count() == 0) return absl::OkStatus();
  std::lock_guard<std::mutex> lock(mutex_);
  for (const std::unique_ptr<Context>& context : free_) {
    AITUNE_RETURN_IF_ERROR(TakeFailedCheck(*context));
  }
  return absl::OkStatus();
}

std::unique_ptr<CudaInstance::Context> CudaInstance::TakeFree(
    size_t index) const {
  std::swap(free_[index], free_.back());
  std::unique_ptr<Context> context = std::move(free_.back());
  free_.pop_back();
  return context;
}

std::optional<size_t> CudaInstance::FindOver() const {
  for (size_t i = free_.size(); i-- > 0;) {
    if (free_[i]->IsOver()) return i;
  }
  return std::nullopt;
}

absl::StatusOr<std::unique_ptr<CudaInstance::Context>> CudaInstance::Take(
    CUstream stream) const {
  AITUNE_ASSIGN_OR_RETURN(const StreamKey key, KeyOf(device_.driver(), stream));
  std::unique_ptr<Context> context;
  bool waits = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto same =
        std::find_if(free_.begin(), free_.end(),
                     [&](const auto& free) { return free->stream == key; });
    if (same != free_.end()) {
      context = TakeFree(static_cast<size_t>(same - free_.begin()));
    } else if (const std::optional<size_t> over = FindOver()) {
      context = TakeFree(*over);
    }
  }
  if (context == nullptr) {
    absl::StatusOr<std::unique_ptr<Context>> made = NewContext();
    if (made.ok()) {
      context = *std::move(made);
    } else {
      // Short of memory: queue behind another stream's call instead.
      std::lock_guard<std::mutex> lock(mutex_);
      if (free_.empty()) return made.status();
      context = TakeFree(free_.size() - 1);
      waits = context->is_queued && context->stream != key;
    }
  }
  if (waits) {
    absl::Status status = device_.driver().Check(
        device_.driver().cuStreamWaitEvent(stream, context->done.get(), 0),
        "waiting for another stream");
    if (!status.ok()) {
      std::lock_guard<std::mutex> lock(mutex_);
      free_.push_back(std::move(context));
      return status;
    }
  }
  context->stream = key;
  return context;
}

absl::StatusOr<std::unique_ptr<CudaInstance::Context>>
CudaInstance::TakeForGraph() const {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (const std::optional<size_t> over = FindOver()) return TakeFree(*over);
  }
  absl::StatusOr<std::unique_ptr<Context>> made = NewContext();
  if (made.ok()) return made;
  // Short of memory: a stream that records can't wait for another one.
  std::lock_guard<std::mutex> lock(mutex_);
  if (free_.empty()) return made.status();
  AITUNE_RETURN_IF_ERROR(free_.back()->done.Synchronize());
  return TakeFree(free_.size() - 1);
}

void CudaInstance::GiveBack(std::unique_ptr<Context> context) const {
  context->stream = 0;
  context->is_queued = false;
  std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(std::move(context));
}

void CudaInstance::Wait() const {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const std::unique_ptr<Context>& context : free_) {
    if (context->is_queued) context->done.Synchronize().IgnoreError();
  }
}

void CudaInstance::PoisonMemory(CUstream stream) const {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const std::unique_ptr<Context>& context : free_) {
    if (context->arena.bytes() == 0) continue;
    device_.driver().cuMemsetD8Async(
        reinterpret_cast<CUdeviceptr>(context->arena.data()), 0xff,
        context->arena.bytes(), stream);
  }
}

void CudaInstance::Return(std::unique_ptr<Context> context,
                          CUstream stream) const {
  context->is_queued = context->done.Record(stream).ok();
  // Were it not recorded, another stream would not wait: make it wait now.
  if (!context->is_queued) device_.driver().cuStreamSynchronize(stream);
  context->ran = true;
  std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(std::move(context));
}

}  // namespace aitune::cuda
