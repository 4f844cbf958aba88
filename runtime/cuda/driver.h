// The CUDA driver, loaded at run time.
//
// Only the driver API is used, not the runtime library: it has no state of its
// own, reports errors of loading code, and shares the primary context with
// LibTorch, so that memory and streams pass between both.
#ifndef AITUNE_RUNTIME_CUDA_DRIVER_H_
#define AITUNE_RUNTIME_CUDA_DRIVER_H_

#include <cuda.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/cuda/shared_library.h"

namespace aitune::cuda {

// The oldest driver that has all functions below, by its newest CUDA: 12.3.
constexpr int kOldestDriver = 12030;

// Names are those of cuda.h, whose macros choose the versions.
#define AITUNE_CUDA_DRIVER_FUNCTIONS(X) \
  X(cuInit)                             \
  X(cuDriverGetVersion)                 \
  X(cuDeviceGetCount)                   \
  X(cuDeviceGet)                        \
  X(cuDeviceGetName)                    \
  X(cuDeviceGetAttribute)               \
  X(cuDevicePrimaryCtxRetain)           \
  X(cuCtxGetCurrent)                    \
  X(cuCtxSetCurrent)                    \
  X(cuCtxSynchronize)                   \
  X(cuMemAlloc)                         \
  X(cuMemFree)                          \
  X(cuMemGetInfo)                       \
  X(cuMemHostAlloc)                     \
  X(cuMemFreeHost)                      \
  X(cuMemcpyHtoD)                       \
  X(cuMemcpyHtoDAsync)                  \
  X(cuMemcpyDtoH)                       \
  X(cuMemcpyDtoDAsync)                  \
  X(cuMemsetD8Async)                    \
  X(cuStreamCreate)                     \
  X(cuStreamDestroy)                    \
  X(cuStreamGetId)                      \
  X(cuStreamSynchronize)                \
  X(cuStreamWaitEvent)                  \
  X(cuStreamBeginCapture)               \
  X(cuStreamEndCapture)                 \
  X(cuStreamIsCapturing)                \
  X(cuStreamGetCaptureInfo)             \
  X(cuStreamUpdateCaptureDependencies)  \
  X(cuThreadExchangeStreamCaptureMode)  \
  X(cuUserObjectCreate)                 \
  X(cuUserObjectRelease)                \
  X(cuGraphRetainUserObject)            \
  X(cuGraphAddEmptyNode)                \
  X(cuGraphInstantiate)                 \
  X(cuGraphUpload)                      \
  X(cuGraphLaunch)                      \
  X(cuGraphDestroy)                     \
  X(cuGraphExecDestroy)                 \
  X(cuEventCreate)                      \
  X(cuEventDestroy)                     \
  X(cuEventRecord)                      \
  X(cuEventQuery)                       \
  X(cuEventSynchronize)                 \
  X(cuEventElapsedTime)                 \
  X(cuModuleLoadData)                   \
  X(cuModuleUnload)                     \
  X(cuModuleGetFunction)                \
  X(cuFuncSetAttribute)                 \
  X(cuLaunchKernelEx)                   \
  X(cuGetErrorName)                     \
  X(cuGetErrorString)

struct Driver {
#define AITUNE_DECLARE(name) decltype(&::name) name = nullptr;
  AITUNE_CUDA_DRIVER_FUNCTIONS(AITUNE_DECLARE)
#undef AITUNE_DECLARE

  // OK for CUDA_SUCCESS; kResourceExhausted when memory is short, kInternal
  // otherwise. `what` says what was tried, such as "copying an input".
  absl::Status Check(CUresult result, absl::string_view what) const;
};

// Finds the functions and initialises the driver. kFailedPrecondition for a
// driver that is too old or does not start, and for a machine without a GPU;
// the text says what was found, what is needed and what to do.
absl::StatusOr<Driver> LoadDriver(const SymbolLookup& lookup);

// The driver of this machine, loaded on first use. kNotFound when there is
// none, otherwise as LoadDriver. Thread-safe. The result lives as long as the
// process.
absl::StatusOr<const Driver*> GetDriver();

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_DRIVER_H_
