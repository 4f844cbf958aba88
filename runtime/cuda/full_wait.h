// A place in a stream that no kernel behind it passes early.
//
// A kernel launched with programmatic stream serialization starts before the
// one in front of it has ended, and a chain of such kernels runs all at once:
// each waits for its direct predecessor only. What reads memory from further up
// the chain needs a place where all before it has ended (CUDA C++ Programming
// Guide, "Programmatic Dependent Launch").
#ifndef AITUNE_RUNTIME_CUDA_FULL_WAIT_H_
#define AITUNE_RUNTIME_CUDA_FULL_WAIT_H_

#include <cuda.h>

#include "absl/status/status.h"
#include "runtime/cuda/device.h"

namespace aitune::cuda {

// Lets what is queued on `stream` from here on start when all before it has
// ended. While a graph is recorded this is a node without work, which costs
// nothing; otherwise one byte at `overwritten`, an address on the device whose
// content may be lost, is set. Errors: those of the driver. Thread-safe for
// different streams.
absl::Status QueueFullWait(const Device& device, CUstream stream,
                           void* overwritten);

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_FULL_WAIT_H_
