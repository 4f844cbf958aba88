#include "runtime/cuda/gpu_target.h"

#include <fstream>
#include <regex>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/shared_library.h"
#include "runtime/status/status_macros.h"

namespace aitune::cuda {
namespace {

size_t VersionOf(const std::string& library, const char* function) {
  const absl::StatusOr<SymbolLookup> lookup = OpenLibrary({library}, "");
  if (!lookup.ok()) return 0;
  const auto version = reinterpret_cast<size_t (*)()>((*lookup)(function));
  return version == nullptr ? 0 : version();
}

// "580.159.03" of "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.03
// ..."; empty where the system does not say.
std::string ModuleVersion() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  std::smatch match;
  return std::regex_search(line, match, std::regex("[0-9]+(\\.[0-9]+)+"))
             ? match.str()
             : "";
}

}  // namespace

std::string ToString(const GpuIdentity& identity) {
  return absl::StrCat(
      identity.name, " sm_", identity.arch, ", ", identity.multiprocessors,
      " multiprocessors; driver ",
      identity.module.empty() ? "" : absl::StrCat(identity.module, " "),
      "for CUDA ", identity.driver / 1000, ".", identity.driver % 1000 / 10,
      "; cuBLASLt ", identity.cublaslt, ", cuDNN ", identity.cudnn);
}

absl::StatusOr<std::string> DescribeGpu(int ordinal) {
  AITUNE_ASSIGN_OR_RETURN(const Device* device, Device::Open(ordinal));
  GpuIdentity identity;
  identity.name = device->name();
  identity.arch = device->arch();
  identity.multiprocessors = device->multiprocessors();
  AITUNE_RETURN_IF_ERROR(device->driver().Check(
      device->driver().cuDriverGetVersion(&identity.driver),
      "asking for the driver's version"));
  identity.module = ModuleVersion();
  identity.cublaslt = VersionOf("libcublasLt.so.13", "cublasLtGetVersion");
  identity.cudnn = VersionOf("libcudnn.so.9", "cudnnGetVersion");
  return ToString(identity);
}

}  // namespace aitune::cuda
