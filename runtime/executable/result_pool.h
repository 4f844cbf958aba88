// Memory for large results of calls. The system's allocator gives such memory
// back when a result goes, and the next call pays for a page fault at each of
// its pages: more than a pointwise kernel takes. A pool keeps what one call
// needs.
#ifndef AITUNE_RUNTIME_EXECUTABLE_RESULT_POOL_H_
#define AITUNE_RUNTIME_EXECUTABLE_RESULT_POOL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/control/host_allocator.h"

namespace aitune {

// Thread-safe. Results may outlive the pool: their memory is then freed when
// they go. What is free goes with the pool.
class ResultPool {
 public:
  // Results of fewer bytes are not worth it: the system's allocator keeps
  // memory of such sizes itself.
  static constexpr int64_t kLeastBytes = int64_t{1} << 20;

  ResultPool();
  ~ResultPool();

  // Uninitialised memory for the results of one call, aligned to 64 bytes:
  // element i has bytes[i] bytes, or is null where that is less than
  // kLeastBytes or, with an allocator, 0. No two of them share memory, nor with
  // what earlier calls returned and somebody still holds; it comes back when
  // the last copy of the pointer goes, on any thread. Errors: those of
  // AlignedBuffer::Allocate.
  absl::StatusOr<std::vector<std::shared_ptr<char>>> Acquire(
      absl::Span<const int64_t> bytes);

  // Where memory is from from now on (AlignedBuffer::Allocate). Frees what is
  // free; results that others hold go when they come back.
  void SetAllocator(std::shared_ptr<const HostAllocator> allocator);

  // Frees what is free.
  void FreeKept();

  // Fills what is free with bytes that are no number and no index.
  void Poison();

  // The bytes that are free now, without those of results. At most what one of
  // the last 32 calls needed.
  int64_t MemoryInBytes() const;

 private:
  class Blocks;
  class Result;
  const std::shared_ptr<Blocks> blocks_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_EXECUTABLE_RESULT_POOL_H_
