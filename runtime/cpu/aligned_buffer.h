// Uninitialised memory for arenas and packed weights: aligned to cache lines,
// and on huge pages where it is large, which spares the first-touch faults and
// TLB misses of big activations.
#ifndef AITUNE_RUNTIME_CPU_ALIGNED_BUFFER_H_
#define AITUNE_RUNTIME_CPU_ALIGNED_BUFFER_H_

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "absl/status/statusor.h"

namespace aitune {

// Owns a block of memory; movable. A default one holds nothing.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;

  // `bytes` bytes, aligned to 64. 0 bytes give an empty buffer.
  // kResourceExhausted when there is not as much memory.
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
