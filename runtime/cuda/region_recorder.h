// The interface through which fallback regions are recorded into CUDA graphs;
// the frontend implements it with LibTorch.
//
// A region queues its work on LibTorch's current stream and allocates memory
// from LibTorch while it runs. A graph replays that work later, on the same
// memory. So the region must run on a stream that is recording, and nobody else
// may get its memory as long as the graph exists.
#ifndef AITUNE_RUNTIME_CUDA_REGION_RECORDER_H_
#define AITUNE_RUNTIME_CUDA_REGION_RECORDER_H_

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/cuda/device.h"

namespace aitune::cuda {

// Thread-safe.
class RegionRecorder {
 public:
  virtual ~RegionRecorder() = default;

  // A stream on which regions can queue work and be recorded, for graphs that
  // never run at the same time: LibTorch's cuBLAS has the same scratch for all
  // work of a stream, in graphs too. It is nobody else's until the last
  // reference is gone. Errors: the driver's.
  virtual absl::StatusOr<std::shared_ptr<const Stream>> LendStream() = 0;

  // A pool of memory for the regions of graphs that never run at the same time.
  // It is freed with its last reference.
  virtual absl::StatusOr<std::shared_ptr<void>> NewPool() = 0;

  // Calls `body`. Regions that this thread runs in it queue their work on
  // `stream` and, unless `pool` is null, take their memory from the pool. Only
  // one thread of the process at a time is in `body`; others wait. Returns the
  // result of `body`, or LibTorch's error.
  virtual absl::Status Within(CUstream stream,
                              const std::shared_ptr<void>& pool,
                              absl::FunctionRef<absl::Status()> body) = 0;
};

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_REGION_RECORDER_H_
