// Uninitialised memory for arenas and packed weights: aligned to cache lines
// and, from 4 MiB on, placed on huge pages where the system has them. These
// spare large activations page faults at first touch, and TLB misses.
#ifndef AITUNE_RUNTIME_CPU_ALIGNED_BUFFER_H_
#define AITUNE_RUNTIME_CPU_ALIGNED_BUFFER_H_

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "absl/status/statusor.h"

namespace aitune {

// Owns a block of memory; movable. A default-constructed one is empty.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;

  // `bytes` bytes of memory, aligned to 64 bytes. 0 bytes give an empty buffer.
  // kResourceExhausted when the system has not enough memory. Thread-safe.
  static absl::StatusOr<AlignedBuffer> Allocate(int64_t bytes);

  char* data() const { return data_.get(); }
  int64_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(char* data) const { std::free(data); }
  };
  std::unique_ptr<char, Free> data_;
  int64_t bytes_ = 0;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_ALIGNED_BUFFER_H_
