#include "runtime/cuda/driver.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace aitune::cuda {
namespace {

#define AITUNE_STRING(name) #name
// Twice, so that cuda.h's macros are applied first.
#define AITUNE_SYMBOL(name) AITUNE_STRING(name)

std::string VersionText(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

}  // namespace

absl::Status Driver::Check(CUresult result, absl::string_view what) const {
  if (result == CUDA_SUCCESS) return absl::OkStatus();
  const char* name = nullptr;
  const char* text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  const std::string message =
      absl::StrCat("CUDA: ", what, " failed: ", text ? text : "unknown error",
                   " (", name ? name : absl::StrCat(result), ")");
  return result == CUDA_ERROR_OUT_OF_MEMORY
             ? absl::ResourceExhaustedError(message)
             : absl::InternalError(message);
}

absl::StatusOr<Driver> LoadDriver(const SymbolLookup& lookup) {
  Driver driver;
  auto get_version = reinterpret_cast<decltype(&::cuDriverGetVersion)>(
      lookup(AITUNE_SYMBOL(cuDriverGetVersion)));
  int version = 0;
  if (get_version == nullptr || get_version(&version) != CUDA_SUCCESS ||
      version < kOldestDriver) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the NVIDIA driver is too old: it supports CUDA ", VersionText(version),
        ", at least ", VersionText(kOldestDriver),
        " is needed. Update the driver, or compile for the CPU "
        "(--device cpu)."));
  }
  const char* missing = nullptr;
#define AITUNE_FIND(name)                                                   \
  driver.name =                                                             \
      reinterpret_cast<decltype(driver.name)>(lookup(AITUNE_SYMBOL(name))); \
  if (driver.name == nullptr) missing = AITUNE_SYMBOL(name);
  AITUNE_CUDA_DRIVER_FUNCTIONS(AITUNE_FIND)
#undef AITUNE_FIND
  if (missing != nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("the NVIDIA driver (for CUDA ", VersionText(version),
                     ") has no ", missing,
                     ". Update the driver, or compile for the CPU "
                     "(--device cpu)."));
  }
  int count = 0;
  CUresult result = driver.cuInit(0);
  if (result == CUDA_SUCCESS) result = driver.cuDeviceGetCount(&count);
  if (result == CUDA_ERROR_NO_DEVICE ||
      (result == CUDA_SUCCESS && count == 0)) {
    return absl::FailedPreconditionError(
        "there is an NVIDIA driver but no GPU that it can use (is "
        "CUDA_VISIBLE_DEVICES empty, or the GPU taken by another system?). "
        "Compile for the CPU (--device cpu).");
  }
  if (result != CUDA_SUCCESS) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the NVIDIA driver does not start: ",
        driver.Check(result, "cuInit").message(),
        ". `nvidia-smi` may say more; --device cpu works without it."));
  }
  return driver;
}

absl::StatusOr<const Driver*> GetDriver() {
  static const absl::StatusOr<Driver>* driver = [] {
    absl::StatusOr<SymbolLookup> lookup =
        OpenLibrary({"libcuda.so.1"},
                    "Is the NVIDIA driver installed? --device cpu works "
                    "without it.");
    return new absl::StatusOr<Driver>(
        lookup.ok() ? LoadDriver(*lookup)
                    : absl::StatusOr<Driver>(lookup.status()));
  }();
  if (!driver->ok()) return driver->status();
  return &**driver;
}

}  // namespace aitune::cuda
