// Times candidate implementations of one kernel on a GPU.
//
// This differs from Measure.h in two ways. Launches are timed inside a CUDA
// graph, as they run in a compiled model, so that the time of the host does not
// count. And the weights of each launch are in other memory than those of the
// launch before: a model reads them from memory, while a kernel that is
// launched again and again would find them in the cache.
#ifndef AITUNE_COMPILER_MEASURE_MEASURECUDA_H
#define AITUNE_COMPILER_MEASURE_MEASURECUDA_H

#include <memory>
#include <set>
#include <vector>

#include "compiler/measure/Measure.h"
#include "runtime/cuda/cuda_executable.h"

namespace aitune {

/// Runs `candidates` (of the same one-kernel model; null for one that could not
/// be loaded) on the same random inputs, with dynamic axes as symbolsOf gives
/// them, for about `seconds` and at least five rounds. `weights` has
/// the numbers of the inputs that are weights. Returns one result for each
/// candidate, in order; the confidence interval of a median spans all of its
/// rounds, which are too few for a narrower one. A candidate after
/// which the GPU refuses all calls of the process ends the measurement: it is
/// the only one with a note for it, and those after it have no time. An error
/// means that the measurement itself failed. Before, `judge` judges each
/// candidate as in measureCandidates; its inputs are those of the plan.
absl::StatusOr<std::vector<Measurement>> measureCudaCandidates(
    const cuda::Device &device,
    const std::vector<std::unique_ptr<cuda::CudaExecutable>> &candidates,
    const std::set<int> &weights, double seconds, KernelJudge *judge = nullptr);

} // namespace aitune

#endif // AITUNE_COMPILER_MEASURE_MEASURECUDA_H
