#include "runtime/executable/result_pool.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <mutex>
#include <utility>

#include "runtime/cpu/aligned_buffer.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

// A block is taken for results of at least this part of its bytes, so that
// results of changing sizes share blocks and none holds much more than it
// needs.
constexpr int64_t kLeastUse = 2;
// Sizes often alternate: what is kept is the most that a call of this window of
// calls, or of the one before it, needed.
constexpr int kWindow = 16;

}  // namespace

// The free blocks, the one that came back last at the end.
class ResultPool::Blocks {
 public:
  // The smallest block that is free for a result of this size; empty if there
  // is none.
  AlignedBuffer Take(int64_t bytes);
  // Keeps the block, and lets the oldest go where that is too much.
  void Give(AlignedBuffer block);
  // Notes what a call needs, in bytes.
  void Need(int64_t bytes);
  void FreeKept();
  void SetAllocator(std::shared_ptr<const HostAllocator> allocator);
  std::shared_ptr<const HostAllocator> allocator() const;
  void Poison();
  int64_t free_bytes() const;

 private:
  // Moves what is too much out of the pool: it is freed without the lock.
  std::vector<AlignedBuffer> TakeExcess();

  mutable std::mutex mutex_;
  std::shared_ptr<const HostAllocator> allocator_;  // null: the system
  std::vector<AlignedBuffer> free_;
  int64_t free_bytes_ = 0;
  // The most bytes that a call needed, in this window and in the one before it.
  int64_t need_ = 0, need_before_ = 0;
  int calls_ = 0;  // calls in this window
};

// The memory of one result.
class ResultPool::Result {
 public:
  Result(AlignedBuffer memory, std::weak_ptr<Blocks> blocks)
      : memory_(std::move(memory)), blocks_(std::move(blocks)) {}
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  ~Result() {
    if (const std::shared_ptr<Blocks> blocks = blocks_.lock())
      blocks->Give(std::move(memory_));
  }
  char* data() const { return memory_.data(); }

 private:
  AlignedBuffer memory_;
  std::weak_ptr<Blocks> blocks_;
};

AlignedBuffer ResultPool::Blocks::Take(int64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto best = free_.end();
  for (auto block = free_.begin(); block != free_.end(); ++block) {
    if (block->bytes() >= bytes && block->bytes() / kLeastUse <= bytes &&
        (best == free_.end() || block->bytes() < best->bytes()))
      best = block;
  }
  if (best == free_.end()) return {};
  AlignedBuffer taken = std::move(*best);
  free_.erase(best);
  free_bytes_ -= taken.bytes();
  return taken;
}

void ResultPool::Blocks::Give(AlignedBuffer block) {
  std::vector<AlignedBuffer> excess;
  AlignedBuffer other;  // what another allocator gave, freed without the lock
  const std::lock_guard<std::mutex> lock(mutex_);
  if (block.allocator() != allocator_.get()) {
    other = std::move(block);
    return;
  }
  free_bytes_ += block.bytes();
  free_.push_back(std::move(block));
  excess = TakeExcess();
}

void ResultPool::Blocks::Need(int64_t bytes) {
  std::vector<AlignedBuffer> excess;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (++calls_ > kWindow) {
    need_before_ = std::exchange(need_, 0);
    calls_ = 1;
  }
  need_ = std::max(need_, bytes);
  excess = TakeExcess();
}

std::vector<AlignedBuffer> ResultPool::Blocks::TakeExcess() {
  size_t count = 0;
  const int64_t most = std::max(need_, need_before_);
  while (free_bytes_ > most) free_bytes_ -= free_[count++].bytes();
  std::vector<AlignedBuffer> excess;
  const auto end = free_.begin() + static_cast<std::ptrdiff_t>(count);
  std::move(free_.begin(), end, std::back_inserter(excess));
  free_.erase(free_.begin(), end);
  return excess;
}

void ResultPool::Blocks::FreeKept() {
  std::vector<AlignedBuffer> freed;  // freed when the lock is given back
  const std::lock_guard<std::mutex> lock(mutex_);
  freed.swap(free_);
  free_bytes_ = 0;
}

void ResultPool::Blocks::SetAllocator(
    std::shared_ptr<const HostAllocator> allocator) {
  std::vector<AlignedBuffer> freed;  // freed when the lock is given back
  const std::lock_guard<std::mutex> lock(mutex_);
  allocator_ = std::move(allocator);
  freed.swap(free_);
  free_bytes_ = 0;
}

std::shared_ptr<const HostAllocator> ResultPool::Blocks::allocator() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return allocator_;
}

void ResultPool::Blocks::Poison() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const AlignedBuffer& block : free_)
    std::memset(block.data(), 0xff, static_cast<size_t>(block.bytes()));
}

int64_t ResultPool::Blocks::free_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return free_bytes_;
}

ResultPool::ResultPool() : blocks_(std::make_shared<Blocks>()) {}
ResultPool::~ResultPool() = default;

absl::StatusOr<std::vector<std::shared_ptr<char>>> ResultPool::Acquire(
    absl::Span<const int64_t> bytes) {
  std::vector<std::shared_ptr<char>> results(bytes.size());
  const std::shared_ptr<const HostAllocator> allocator = blocks_->allocator();
  const int64_t least = allocator == nullptr ? kLeastBytes : 1;
  int64_t need = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] < least) continue;
    AlignedBuffer memory = blocks_->Take(bytes[i]);
    if (memory.data() == nullptr) {
      AITUNE_ASSIGN_OR_RETURN(memory,
                              AlignedBuffer::Allocate(bytes[i], allocator));
    }
    need += bytes[i];
    auto result = std::make_shared<Result>(std::move(memory), blocks_);
    char* const data = result->data();
    results[i] = std::shared_ptr<char>(std::move(result), data);
  }
  blocks_->Need(need);
  return results;
}

void ResultPool::FreeKept() { blocks_->FreeKept(); }

void ResultPool::SetAllocator(std::shared_ptr<const HostAllocator> allocator) {
  blocks_->SetAllocator(std::move(allocator));
}

void ResultPool::Poison() { blocks_->Poison(); }

int64_t ResultPool::MemoryInBytes() const { return blocks_->free_bytes(); }

}  // namespace aitune
