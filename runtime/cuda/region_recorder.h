// What lets fallback regions be recorded into CUDA graphs.
//
// A region queues its work on LibTorch's current stream and takes memory of
// LibTorch's while it runs. A graph replays that work later, on the same
// memory: so the region must run on a stream that records, and what it takes
// must be kept from everybody else for as long as the graph is there.
#ifndef AITUNE_RUNTIME_CUDA_REGION_RECORDER_H_
#define AITUNE_RUNTIME_CUDA_REGION_RECORDER_H_

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/cuda/driver.h"

namespace aitune::cuda {

// Thread-safe.
class RegionRecorder {
 public:
  virtual ~RegionRecorder() = default;

  // A stream on which regions can queue work, of LibTorch's.
  virtual CUstream stream() const = 0;

  // Memory for the regions of graphs that never run at the same time. It is
  // given back with the last reference.
  virtual absl::StatusOr<std::shared_ptr<void>> NewPool() = 0;

  // Calls `body`; regions that this thread runs in it queue their work on
  // stream() and, unless `pool` is null, take their memory from it. One at a
  // time in the process. Returns what `body` does, or LibTorch's error.
  virtual absl::Status Within(const std::shared_ptr<void>& pool,
                              absl::FunctionRef<absl::Status()> body) = 0;
};

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_REGION_RECORDER_H_
