// The GPU that code is generated for: what schedules need to know about it.
//
// Named rather than detected here: the compiler runs without a GPU, and tests
// give the same text on every machine. Who has a device fills in its figures.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_TARGET_GPUTARGET_H
#define AITUNE_COMPILER_CODEGEN_GPU_TARGET_GPUTARGET_H

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace aitune {

struct GpuTarget {
  /// Compute capability: 9 and 0 for an H200.
  int major = 9, minor = 0;
  /// Multiprocessors of the chip.
  int multiprocessors = 132;
  /// Most shared memory of a block, in bytes (above 48 KiB a launch must ask).
  int sharedMemoryPerBlock = 227 * 1024;
  /// Contractions of f32 may round their operands to tf32.
  bool allowTf32 = false;

  /// NVRTC's name, with the instructions of this chip alone where there are
  /// such: "sm_80", "sm_90a", "sm_100a", "sm_120a".
  std::string architecture() const;
  /// Whether kernels may overlap with the one before (griddepcontrol).
  bool hasDependentLaunch() const { return major >= 9; }
  /// Warpgroup matrix instructions; Hopper alone has them.
  bool hasWgmma() const { return major == 9; }

  /// "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120", each also with a
  /// trailing "a": a typical chip of that kind. kInvalidArgument otherwise.
  static absl::StatusOr<GpuTarget> named(std::string_view name);
};

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_TARGET_GPUTARGET_H
