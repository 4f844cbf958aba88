// Times candidate implementations of one kernel on a GPU.
//
// As Measure.h, with what is different there: launches are timed inside a CUDA
// graph, where they run in a compiled model, so that the host plays no part;
// and weights are read from other memory at each launch, because in a model
// they come from memory and would here be found in the cache, which favours
// other kernels.
#ifndef AITUNE_COMPILER_MEASURE_MEASURECUDA_H
#define AITUNE_COMPILER_MEASURE_MEASURECUDA_H

#include <memory>
#include <set>
#include <vector>

#include "compiler/measure/Measure.h"
#include "runtime/cuda/cuda_executable.h"

namespace aitune {

/// Runs `candidates` (of the same one-kernel model; null for one that could not
/// be loaded) on the same random inputs, dynamic axes at the top of their
/// range, for about `seconds` and at least five rounds. The inputs numbered in
/// `weights` are weights. One result a candidate, in order: the interval of a
/// median is that of all its rounds, which are too few for a narrower one. An
/// error when the measurement itself fails.
absl::StatusOr<std::vector<Measurement>> measureCudaCandidates(
    const cuda::Device &device,
    const std::vector<std::unique_ptr<cuda::CudaExecutable>> &candidates,
    const std::set<int> &weights, double seconds);

} // namespace aitune

#endif // AITUNE_COMPILER_MEASURE_MEASURECUDA_H
