// Times models on a GPU against each other that need not have the same
// constants, as a layer and its quantised form.
//
// MeasureCuda.h gives each launch other weights through a plan's inputs. Here
// each model is loaded several times, so that also what it packs or computes at
// load is in memory, and not in the cache, when it is used again.
#ifndef AITUNE_COMPILER_MEASURE_TIMECUDACOPIES_H
#define AITUNE_COMPILER_MEASURE_TIMECUDACOPIES_H

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/measure/Measure.h"
#include "runtime/cuda/cuda_executable.h"

namespace aitune {

/// A model, loaded once or several times.
using LoadedCopies = std::vector<std::unique_ptr<cuda::CudaExecutable>>;

/// How many times a model whose constants are of `bytes` bytes must be loaded
/// for its constants not to stay in the cache: 1 if they are so few that they
/// stay there in a larger model too.
int copiesBeyondCache(const cuda::Device &device, int64_t bytes);

/// Runs `models`, each with at least one copy and all with inputs and outputs
/// of the same static types, in turn for about `seconds` and at least fifteen
/// rounds, on random inputs. A round launches a recorded graph of each, in
/// which its copies follow each other. One result a model, in order, in
/// microseconds of one run. Results are not compared.
absl::StatusOr<std::vector<Measurement>>
timeCudaCopies(const cuda::Device &device,
               absl::Span<const LoadedCopies> models, double seconds);

} // namespace aitune

#endif // AITUNE_COMPILER_MEASURE_TIMECUDACOPIES_H
