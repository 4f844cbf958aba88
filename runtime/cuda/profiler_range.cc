#include "runtime/cuda/profiler_range.h"

#include <cstdlib>

#include "absl/status/statusor.h"

namespace aitune::cuda {

ProfilerFunctions FindProfilerFunctions(const SymbolLookup& lookup) {
  ProfilerFunctions functions;
  functions.push =
      reinterpret_cast<int (*)(const char*)>(lookup("nvtxRangePushA"));
  functions.pop = reinterpret_cast<int (*)()>(lookup("nvtxRangePop"));
  if (functions.push == nullptr || functions.pop == nullptr) return {};
  return functions;
}

const ProfilerFunctions& AttachedProfiler() {
  static const ProfilerFunctions functions = []() -> ProfilerFunctions {
    if (std::getenv("NVTX_INJECTION64_PATH") == nullptr) return {};
    const absl::StatusOr<SymbolLookup> library =
        OpenLibrary({"libnvtx3interop.so.1", "libnvtx3interop.so"},
                    "it comes with CUDA and with PyPI's torch");
    return library.ok() ? FindProfilerFunctions(*library) : ProfilerFunctions();
  }();
  return functions;
}

}  // namespace aitune::cuda
