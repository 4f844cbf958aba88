// Makes the library calls of a plan ready. Internal to this folder.
#ifndef AITUNE_RUNTIME_CUDA_PREPARE_CALLS_H_
#define AITUNE_RUNTIME_CUDA_PREPARE_CALLS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/cuda/algorithms.h"
#include "runtime/cuda/library_call.h"

namespace aitune::cuda {

using SharedCall = std::shared_ptr<const LibraryCall>;

// For each i whose key is not empty, sets calls[i] to prepare(j), where j is
// the first position with keys[j] == keys[i]: equal calls are prepared once.
// Calls `prepare` on several threads at once, because cuDNN compiles for about
// a second for each call. Returns the error that is first in the order of the
// keys, and sets `failed` to its position.
absl::Status PrepareCalls(
    const std::vector<std::string>& keys,
    const std::function<absl::StatusOr<SharedCall>(size_t)>& prepare,
    std::vector<SharedCall>& calls, size_t& failed);

// prepare(asked); with kAny, if that fails, the first of prepare(0), prepare(1)
// and so on that succeeds. If none does, the error of prepare(asked).
absl::StatusOr<SharedCall> PrepareAlgorithm(
    int asked, Algorithms allowed,
    absl::FunctionRef<absl::StatusOr<std::unique_ptr<LibraryCall>>(int)>
        prepare);

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_PREPARE_CALLS_H_
