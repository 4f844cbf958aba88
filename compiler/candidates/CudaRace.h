// Runs candidates on a GPU against each other.
#ifndef AITUNE_COMPILER_CANDIDATES_CUDARACE_H
#define AITUNE_COMPILER_CANDIDATES_CUDARACE_H

#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "compiler/candidates/CompilationTarget.h"
#include "runtime/cuda/device.h"

namespace aitune {

/// As CompilationTarget::race. Constants that no entry prepares at load are in
/// other memory at each launch of a kernel, so that the launch does not find
/// them in the cache, as it does not in a model. `reference` has the options
/// with which the right results are computed.
std::unique_ptr<CandidateRace>
raceOnCuda(const cuda::Device &device, std::vector<RaceEntry> entries,
           const Kernel *kernel, absl::Span<const ConstantTensor> constants,
           const ReferenceOptions &reference);

/// As CompilationTarget::runModel.
absl::Status runModelOnCuda(const cuda::Device &device, ModelCalls calls,
                            absl::Span<const ConstantTensor> constants);

/// As CompilationTarget::timeLayers.
absl::StatusOr<std::vector<Measurement>>
timeLayersOnCuda(const cuda::Device &device,
                 absl::Span<const TimedModel> models, double seconds);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_CUDARACE_H
