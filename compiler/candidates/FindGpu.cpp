#include "compiler/candidates/FindGpu.h"

#include "runtime/device/device.h"
#include "runtime/status/status_macros.h"

namespace aitune {

GpuTarget toGpuTarget(const cuda::Device &gpu) {
  GpuTarget target;
  target.major = gpu.arch() / 10;
  target.minor = gpu.arch() % 10;
  target.multiprocessors = gpu.multiprocessors();
  target.sharedMemoryPerBlock = gpu.shared_memory_per_block();
  return target;
}

absl::StatusOr<std::optional<GpuTarget>>
findGpu(const CompileOptions &options) {
  AITUNE_ASSIGN_OR_RETURN(const Device device,
                          Device::ParseCpuOrGpu(options.device));
  if (!device.is_gpu())
    return std::nullopt;
  const absl::StatusOr<const cuda::Device *> gpu =
      cuda::Device::Open(device.gpu());
  if (!gpu.ok() && options.compileTo != CompilePhase::Executable)
    return GpuTarget();
  if (!gpu.ok())
    return gpu.status();
  return toGpuTarget(**gpu);
}

} // namespace aitune
