#include "compiler/candidates/CompilationTarget.h"

#include "absl/strings/str_cat.h"
#include "compiler/candidates/CpuTarget.h"
#include "compiler/candidates/CudaTarget.h"
#include "runtime/device/device.h"

namespace aitune {

absl::StatusOr<int> cudaOrdinal(const std::string &device) {
  absl::StatusOr<Device> parsed = Device::Parse(device);
  if (parsed.ok() && parsed->gpu() >= 0)
    return parsed->gpu();
  return absl::InvalidArgumentError(
      absl::StrCat("unknown device '", device,
                   "'; known are cpu, cuda and cuda:N for the GPU number N"));
}

absl::StatusOr<std::unique_ptr<CompilationTarget>>
createTarget(const CompileOptions &options, int64_t constantBytes) {
  if (options.device == "cpu")
    return createCpuTarget(options, constantBytes);
  absl::StatusOr<int> ordinal = cudaOrdinal(options.device);
  if (!ordinal.ok())
    return ordinal.status();
  return createCudaTarget(options, *ordinal);
}

} // namespace aitune
