// Implements RegionRecorder with LibTorch's stream and memory, so that fallback
// regions can be recorded into CUDA graphs.
#ifndef AITUNE_FRONTEND_VALUES_GPU_REGION_RECORDER_H_
#define AITUNE_FRONTEND_VALUES_GPU_REGION_RECORDER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/cuda/region_recorder.h"
#include "runtime/device/device.h"

namespace aitune::frontend {

// The recorder for `gpu`, after StartLibTorchCuda. kUnimplemented when
// LibTorch's CUDA library is of another version than this code was compiled
// for.
absl::StatusOr<std::shared_ptr<cuda::RegionRecorder>> LibTorchRegionRecorder(
    const Device& gpu);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_VALUES_GPU_REGION_RECORDER_H_
