#include "compiler/candidates/CompilationTarget.h"

#include <thread>

#include "compiler/candidates/CpuTarget.h"
#include "compiler/candidates/CudaTarget.h"
#include "compiler/candidates/GenerationProcesses.h"
#include "runtime/device/device.h"

namespace aitune {

absl::StatusOr<std::unique_ptr<CompilationTarget>>
createTarget(const CompileOptions &options, int64_t constantBytes) {
  absl::StatusOr<Device> device = Device::ParseCpuOrGpu(options.device);
  if (!device.ok())
    return device.status();
  // They start while the passes run.
  if (options.compileTo == CompilePhase::Executable)
    GenerationProcesses::get(options.generation.worker,
                             options.threads > 0
                                 ? options.threads
                                 : std::thread::hardware_concurrency());
  return device->is_gpu() ? createCudaTarget(options, device->gpu())
                          : createCpuTarget(options, constantBytes);
}

} // namespace aitune
