// Makes the library calls of a plan ready. Internal to this folder.
#ifndef AITUNE_RUNTIME_CUDA_PREPARE_CALLS_H_
#define AITUNE_RUNTIME_CUDA_PREPARE_CALLS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/cuda/library_call.h"

namespace aitune::cuda {

using SharedCall = std::shared_ptr<const LibraryCall>;

// Sets calls[i] to prepare(j), j being the first with keys[j] == keys[i], for
// each i whose key is not empty: equal calls are made ready once. Different
// ones are several at a time, since cuDNN compiles for a second; `prepare` is
// called on threads of its own. The error is the first in the order of the
// keys, `failed` its position.
absl::Status PrepareCalls(
    const std::vector<std::string>& keys,
    const std::function<absl::StatusOr<SharedCall>(size_t)>& prepare,
    std::vector<SharedCall>& calls, size_t& failed);

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_PREPARE_CALLS_H_
