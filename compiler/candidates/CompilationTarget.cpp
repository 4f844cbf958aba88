#include "compiler/candidates/CompilationTarget.h"

#include "absl/strings/str_cat.h"
#include "compiler/candidates/CpuTarget.h"
#include "compiler/candidates/CudaTarget.h"
#include "compiler/candidates/GenerationProcesses.h"
#include "compiler/support/Parallel.h"
#include "runtime/device/device.h"
#include "runtime/status/status_macros.h"

namespace aitune {

absl::Status checkUsable(const CompilationTarget &target,
                         const std::string &culprit) {
  const absl::Status usable = target.usable();
  if (usable.ok())
    return usable;
  return absl::InternalError(absl::StrCat(
      culprit, " made ", target.device(),
      " unusable for this process: ", usable.message(),
      ". --no-measure builds without running candidates; --disable gives a "
      "submodule to LibTorch."));
}

absl::StatusOr<std::unique_ptr<CompilationTarget>>
createTarget(const CompileOptions &options, int64_t constantBytes) {
  AITUNE_ASSIGN_OR_RETURN(Device device, Device::ParseCpuOrGpu(options.device));
  // They start while the passes run.
  if (options.compileTo == CompilePhase::Executable)
    GenerationProcesses::get(options.generation.worker,
                             threadsOrAll(options.threads));
  return device.is_gpu() ? createCudaTarget(options, device.gpu())
                         : createCpuTarget(options, constantBytes);
}

absl::Status checkGenerator(const CompileOptions &options) {
  const std::shared_ptr<GenerationProcesses> processes =
      GenerationProcesses::get(options.generation.worker,
                               threadsOrAll(options.threads));
  const absl::Status checked =
      processes ? processes->check() : absl::OkStatus();
  return absl::IsUnavailable(checked) ? absl::OkStatus() : checked;
}

} // namespace aitune
