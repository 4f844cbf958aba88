// What the passes on the graph ask of a device: whether they are worth it there
// depends on these facts alone, not on the device's name.
#ifndef AITUNE_COMPILER_PIPELINES_DEVICEFACTS_H
#define AITUNE_COMPILER_PIPELINES_DEVICEFACTS_H

#include <cstdint>
#include <optional>

namespace aitune {

struct DeviceFacts {
  /// Whether eager divides integers by 0 without an error.
  bool dividesByZero;
  /// Whether convolutions of volumes have kernels, not those of images alone.
  bool hasVolumeKernels;
  /// Whether convolutions of few channels have fast kernels.
  bool hasFewChannelKernels;
  /// Whether depthwise convolutions have kernels for planes: channels first.
  bool hasDepthwisePlaneKernels;
  /// Whether convolutions of single pixels read planes as fast as pixels.
  bool readsPlanes;
  /// The most elements of a row of an operand that a kernel can keep while it
  /// reads another operand, as all of it is in registers; nothing: any number.
  std::optional<int64_t> mostKeptElements;
  /// Whether the threads that compute one result share its reduction. Otherwise
  /// one core reduces a row, a window or a group by itself.
  bool sharesReductions;
  /// With sharesReductions: the results that keep most of the device busy.
  int64_t busyResults;
  /// Whether one of several matmuls of an input leaves most of the device idle.
  bool idlesInMatmuls;

  static DeviceFacts ofCpu();
  static DeviceFacts ofGpu();
};

} // namespace aitune

#endif // AITUNE_COMPILER_PIPELINES_DEVICEFACTS_H
