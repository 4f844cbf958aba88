#include "compiler/candidates/CompilationTarget.h"

#include "compiler/candidates/CpuTarget.h"
#include "compiler/candidates/CudaTarget.h"
#include "runtime/device/device.h"

namespace aitune {

absl::StatusOr<std::unique_ptr<CompilationTarget>>
createTarget(const CompileOptions &options, int64_t constantBytes) {
  absl::StatusOr<Device> device = Device::ParseCpuOrGpu(options.device);
  if (!device.ok())
    return device.status();
  return device->is_gpu() ? createCudaTarget(options, device->gpu())
                          : createCpuTarget(options, constantBytes);
}

} // namespace aitune
