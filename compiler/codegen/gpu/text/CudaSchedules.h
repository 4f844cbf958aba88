// The form in which generators of CUDA text list the schedules of a kernel.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_TEXT_CUDASCHEDULES_H
#define AITUNE_COMPILER_CODEGEN_GPU_TEXT_CUDASCHEDULES_H

#include <string>
#include <vector>

namespace aitune {

struct CudaSchedule {
  /// The text of the kernel's ait.config.
  std::string config;
  /// A text for people, such as "mma 64x32, 6 stages".
  std::string description;
  /// Numbers that describe the schedule for a cost model; all schedules of a
  /// kernel have the same number of them.
  std::vector<double> features;
};

/// The schedules of one kernel, the most promising first. Empty for kernels
/// whose template has no parameters.
using CudaSchedules = std::vector<CudaSchedule>;

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_TEXT_CUDASCHEDULES_H
