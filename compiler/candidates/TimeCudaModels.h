// Times whole models on a GPU, and parts of models that LibTorch runs.
#ifndef AITUNE_COMPILER_CANDIDATES_TIMECUDAMODELS_H
#define AITUNE_COMPILER_CANDIDATES_TIMECUDAMODELS_H

#include <memory>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/candidates/CompilationTarget.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/region_recorder.h"

namespace aitune {

/// As CompilationTarget::timeModels. `recorder` is LibTorchOptions::recorder.
/// kUnimplemented for a model of which LibTorch reads integers: those that are
/// made up here may be indices out of range, which a GPU does not survive.
absl::StatusOr<std::vector<Measurement>>
timeModelsOnCuda(const cuda::Device &device, std::vector<ModelToTime> models,
                 const std::shared_ptr<cuda::RegionRecorder> &recorder,
                 const ModelTiming &timing);

/// As CompilationTarget::timePart.
absl::StatusOr<Measurement>
timePartOnCuda(const cuda::Device &device, const LibTorchPart &part,
               const std::shared_ptr<cuda::RegionRecorder> &recorder,
               double seconds);

/// `plan`, which has one step, with that step as often as `times`, each with
/// inputs of its own for those in `weights`. The result is the last one's.
ExecutablePlan repeatStep(const ExecutablePlan &plan,
                          const std::set<int> &weights, int times);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_TIMECUDAMODELS_H
