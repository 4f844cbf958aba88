// Runs candidates on a GPU against each other.
#ifndef AITUNE_COMPILER_CANDIDATES_CUDARACE_H
#define AITUNE_COMPILER_CANDIDATES_CUDARACE_H

#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "compiler/candidates/CompilationTarget.h"
#include "compiler/candidates/ConvolutionPlanner.h"
#include "runtime/cuda/cuda_executable.h"
#include "runtime/cuda/device.h"

namespace aitune {

/// As CompilationTarget::race. Constants that no entry prepares at load are in
/// other memory at each launch of a kernel, so that the launch does not find
/// them in the cache, as it does not in a model. `reference` has the options
/// with which the right results are computed. `planner` must live as long as
/// the race.
std::unique_ptr<CandidateRace>
raceOnCuda(const cuda::Device &device, std::vector<RaceEntry> entries,
           const Kernel *kernel, absl::Span<const ConstantTensor> constants,
           const ReferenceOptions &reference, ConvolutionPlanner &planner);

/// `entry`, whose plan is for "cuda", ready to be recorded several times in a
/// graph. LibTorch may run nothing of it.
absl::StatusOr<std::unique_ptr<cuda::CudaExecutable>>
loadToRecord(const cuda::Device &device, const RaceEntry &entry,
             absl::Span<const ConstantTensor> constants);

/// As CompilationTarget::runModel.
absl::Status runModelOnCuda(const cuda::Device &device, ModelCalls calls,
                            absl::Span<const ConstantTensor> constants);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_CUDARACE_H
