#include "compiler/pipelines/DeviceFacts.h"

namespace aitune {

DeviceFacts DeviceFacts::ofCpu() {
  DeviceFacts facts;
  facts.dividesByZero = false;
  facts.hasVolumeKernels = false;
  facts.hasFewChannelKernels = true; // oneDNN's
  facts.hasDepthwisePlaneKernels = true;
  facts.readsPlanes = false;
  facts.mostKeptElements = std::nullopt;
  facts.sharesReductions = false;
  facts.busyResults = 0;
  // One keeps all cores busy. Joined weights could not be packed at load, since
  // the CPU's kernels pack constants of the pool alone.
  facts.idlesInMatmuls = false;
  return facts;
}

DeviceFacts DeviceFacts::ofGpu() {
  DeviceFacts facts;
  facts.dividesByZero = true;
  facts.hasVolumeKernels = true;
  facts.hasFewChannelKernels = false;
  facts.hasDepthwisePlaneKernels = false;
  facts.readsPlanes = true; // the libraries do
  facts.mostKeptElements = 256;
  facts.sharesReductions = true;
  facts.busyResults = 128; // a large GPU has 132 multiprocessors
  facts.idlesInMatmuls = true;
  return facts;
}

} // namespace aitune
