// The properties of the GPU that code is generated for.
//
// They are given here by name and not detected, because the compiler runs
// without a GPU and tests must print the same text on every machine. A caller
// that has a GPU fills in its properties.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_TARGET_GPUTARGET_H
#define AITUNE_COMPILER_CODEGEN_GPU_TARGET_GPUTARGET_H

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace aitune {

struct GpuTarget {
  /// The compute capability. All defaults are those of an H200 (CUDA C++
  /// Programming Guide, Compute Capabilities).
  int major = 9, minor = 0;
  /// The number of multiprocessors.
  int multiprocessors = 132;
  /// The most shared memory of a block, in bytes (a launch must ask for more
  /// than 48 KiB).
  int sharedMemoryPerBlock = 227 * 1024;
  /// Whether contractions of f32 may round their operands to tf32.
  bool allowTf32 = false;

  /// NVRTC's name of the architecture, with instructions of this chip alone if
  /// it has such: "sm_80", "sm_90a", "sm_100a", "sm_120a".
  std::string architecture() const;
  /// Whether a kernel may start before the one before it has ended
  /// (griddepcontrol).
  bool hasDependentLaunch() const { return major >= 9; }
  /// Whether it has warpgroup matrix instructions, as only Hopper has.
  bool hasWgmma() const { return major == 9; }

  /// A typical GPU of this architecture: "sm_80", "sm_86", "sm_89", "sm_90",
  /// "sm_100" or "sm_120", each also with a trailing "a". kInvalidArgument for
  /// another name.
  static absl::StatusOr<GpuTarget> named(std::string_view name);
};

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_TARGET_GPUTARGET_H
