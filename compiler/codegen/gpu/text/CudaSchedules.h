// Schedules that a generator of CUDA text can be asked for.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_TEXT_CUDASCHEDULES_H
#define AITUNE_COMPILER_CODEGEN_GPU_TEXT_CUDASCHEDULES_H

#include <string>
#include <vector>

namespace aitune {

struct CudaSchedule {
  /// The text of the kernel's ait.config.
  std::string config;
  /// For people: "mma 64x32, 6 stages".
  std::string description;
  /// What a cost model sees of it, as many for all schedules of a kernel.
  std::vector<double> features;
};

/// Of one kernel, the most promising first. Empty for kernels without
/// parameters.
using CudaSchedules = std::vector<CudaSchedule>;

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_TEXT_CUDASCHEDULES_H
