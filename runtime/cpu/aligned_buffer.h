// Uninitialised memory for arenas and packed weights: aligned to cache lines
// and, from 2 MiB on, placed on huge pages where the system has them. These
// spare large activations page faults at first touch, and TLB misses.
#ifndef AITUNE_RUNTIME_CPU_ALIGNED_BUFFER_H_
#define AITUNE_RUNTIME_CPU_ALIGNED_BUFFER_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "runtime/control/host_allocator.h"

namespace aitune {

// Owns a block of memory; movable. A default-constructed one is empty.
class AlignedBuffer {
 public:
  // Of data() in bytes, at least: a line of the cache.
  static constexpr int64_t kAlignment = 64;

  AlignedBuffer() = default;

  // `bytes` bytes of memory, aligned to kAlignment, of `allocator`, which the
  // buffer keeps; null: of the system. 0 bytes give an empty buffer.
  // kResourceExhausted when there is not enough memory, kInvalidArgument when
  // the allocator's is not aligned. Thread-safe.
  static absl::StatusOr<AlignedBuffer> Allocate(
      int64_t bytes, std::shared_ptr<const HostAllocator> allocator = nullptr);

  char* data() const { return data_.get(); }
  int64_t bytes() const { return bytes_; }
  // Null for memory of the system and an empty buffer.
  const HostAllocator* allocator() const {
    return data_.get_deleter().allocator.get();
  }

 private:
  struct Free {
    Free() {}  // not defaulted: AlignedBuffer is not complete yet
    Free(std::shared_ptr<const HostAllocator> allocator, int64_t bytes)
        : allocator(std::move(allocator)), bytes(bytes) {}
    void operator()(char* data) const;

    std::shared_ptr<const HostAllocator> allocator;
    int64_t bytes = 0;  // that the allocator was asked for
  };
  std::unique_ptr<char, Free> data_;
  int64_t bytes_ = 0;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_ALIGNED_BUFFER_H_
