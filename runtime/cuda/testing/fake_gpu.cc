#include "runtime/cuda/testing/fake_gpu.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace aitune::cuda {
namespace {

// Handles of functions and graphs are their positions, from 1 on.
template <typename T>
T HandleOf(size_t position) {
  return reinterpret_cast<T>(position + 1);
}
template <typename T>
size_t PositionOf(T handle) {
  return reinterpret_cast<uintptr_t>(handle) - 1;
}

// Now, or each time that the graph is launched that is being recorded.
CUresult Queue(FakeGpu::Work work) {
  if (TheFakeGpu().recording) {
    TheFakeGpu().recording_now.push_back(std::move(work));
  } else {
    work();
  }
  return CUDA_SUCCESS;
}

CUresult Start(unsigned) { return TheFakeGpu().start; }
CUresult Version(int* version) {
  *version = TheFakeGpu().version;
  return CUDA_SUCCESS;
}
CUresult Count(int* count) {
  *count = TheFakeGpu().count;
  return CUDA_SUCCESS;
}
CUresult Name(char* name, int length, CUdevice) {
  std::strncpy(name, "Fake GPU", length);
  return CUDA_SUCCESS;
}
CUresult Attribute(int* value, CUdevice_attribute which, CUdevice) {
  *value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
  return CUDA_SUCCESS;
}
CUresult RetainContext(CUcontext* context, CUdevice) {
  *context = FakeGpu::kContext;
  return CUDA_SUCCESS;
}
CUresult GetContext(CUcontext* context) {
  *context = TheFakeGpu().current;
  return CUDA_SUCCESS;
}
CUresult SetContext(CUcontext context) {
  TheFakeGpu().current = context;
  return CUDA_SUCCESS;
}
// As the driver: the default stream is that of the current context.
CUresult RecordEvent(CUevent, CUstream stream) {
  return stream == nullptr && TheFakeGpu().current != FakeGpu::kContext
             ? CUDA_ERROR_INVALID_HANDLE
             : CUDA_SUCCESS;
}
CUresult Allocate(CUdeviceptr* address, size_t bytes) {
  FakeGpu& gpu = TheFakeGpu();
  if (gpu.used + bytes > gpu.memory) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(std::malloc(bytes));
  gpu.blocks[*address] = bytes;
  gpu.used += bytes;
  return CUDA_SUCCESS;
}
CUresult Free(CUdeviceptr address) {
  FakeGpu& gpu = TheFakeGpu();
  gpu.used -= gpu.blocks.at(address);
  gpu.blocks.erase(address);
  std::free(reinterpret_cast<void*>(address));
  return CUDA_SUCCESS;
}
CUresult MemoryInfo(size_t* free, size_t* total) {
  *free = TheFakeGpu().memory - TheFakeGpu().used;
  *total = TheFakeGpu().memory;
  return CUDA_SUCCESS;
}
CUresult AllocateHost(void** address, size_t bytes, unsigned flags) {
  if (flags != (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP))
    return CUDA_ERROR_INVALID_VALUE;
  *address = std::malloc(bytes);
  std::memset(*address, 0xff, bytes);
  return CUDA_SUCCESS;
}
CUresult FreeHost(void* address) {
  std::free(address);
  return CUDA_SUCCESS;
}
CUresult ToDevice(CUdeviceptr to, const void* from, size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return CUDA_SUCCESS;
}
CUresult FromDevice(void* to, CUdeviceptr from, size_t bytes) {
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return CUDA_SUCCESS;
}
CUresult WithinDevice(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                      CUstream) {
  return Queue([=] {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from),
                bytes);
  });
}
CUresult Set(CUdeviceptr to, unsigned char byte, size_t bytes, CUstream) {
  return Queue([=] { std::memset(reinterpret_cast<void*>(to), byte, bytes); });
}
CUresult LoadModule(CUmodule* module, const void*) {
  if (TheFakeGpu().load == CUDA_SUCCESS) *module = FakeHandle<CUmodule>();
  return TheFakeGpu().load;
}
CUresult FindFunction(CUfunction* function, CUmodule, const char* name) {
  FakeGpu& gpu = TheFakeGpu();
  if (gpu.kernels.count(name) == 0) return CUDA_ERROR_NOT_FOUND;
  *function = HandleOf<CUfunction>(gpu.functions.size());
  gpu.functions.push_back(name);
  return CUDA_SUCCESS;
}
CUresult Launch(const CUlaunchConfig*, CUfunction function, void** parameters,
                void**) {
  FakeGpu& gpu = TheFakeGpu();
  if (gpu.launch != CUDA_SUCCESS) return gpu.launch;
  ++(gpu.recording ? gpu.recorded : gpu.launches);
  return Queue(
      gpu.kernels.at(gpu.functions.at(PositionOf(function)))(parameters));
}
CUresult NewStream(CUstream* stream, unsigned) {
  *stream = FakeHandle<CUstream>();
  return CUDA_SUCCESS;
}
CUresult NewEvent(CUevent* event, unsigned) {
  *event = FakeHandle<CUevent>();
  return CUDA_SUCCESS;
}
CUresult BeginCapture(CUstream, CUstreamCaptureMode) {
  TheFakeGpu().recording = true;
  TheFakeGpu().recording_now.clear();
  return CUDA_SUCCESS;
}
CUresult EndCapture(CUstream, CUgraph* graph) {
  TheFakeGpu().recording = false;
  *graph = FakeHandle<CUgraph>();
  return CUDA_SUCCESS;
}
CUresult IsCapturing(CUstream, CUstreamCaptureStatus* status) {
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
// Of the last recording.
CUresult Instantiate(CUgraphExec* graph, CUgraph, unsigned long long) {
  FakeGpu& gpu = TheFakeGpu();
  if (gpu.graph != CUDA_SUCCESS) return gpu.graph;
  *graph = HandleOf<CUgraphExec>(gpu.graphs.size());
  gpu.graphs.push_back(std::move(gpu.recording_now));
  return CUDA_SUCCESS;
}
CUresult LaunchGraph(CUgraphExec graph, CUstream) {
  ++TheFakeGpu().graph_launches;
  for (const FakeGpu::Work& work : TheFakeGpu().graphs.at(PositionOf(graph)))
    work();
  return CUDA_SUCCESS;
}
CUresult ErrorName(CUresult, const char** text) {
  *text = "CUDA_ERROR_FAKE";
  return CUDA_SUCCESS;
}
CUresult ErrorText(CUresult, const char** text) {
  *text = "a made-up failure";
  return CUDA_SUCCESS;
}
CUresult Succeed() { return CUDA_SUCCESS; }

#define AITUNE_STRING(name) #name
#define AITUNE_FAKE(name, function) \
  {AITUNE_STRING(name), reinterpret_cast<void*>(function)}

}  // namespace

FakeGpu& TheFakeGpu() {
  static auto* const gpu = new FakeGpu();
  return *gpu;
}

SymbolLookup FakeDriverFunctions(std::map<std::string, void*> changed) {
  std::map<std::string, void*> functions = {
      AITUNE_FAKE(cuInit, Start),
      AITUNE_FAKE(cuDriverGetVersion, Version),
      AITUNE_FAKE(cuDeviceGetCount, Count),
      AITUNE_FAKE(cuDeviceGetName, Name),
      AITUNE_FAKE(cuDeviceGetAttribute, Attribute),
      AITUNE_FAKE(cuDevicePrimaryCtxRetain, RetainContext),
      AITUNE_FAKE(cuCtxGetCurrent, GetContext),
      AITUNE_FAKE(cuCtxSetCurrent, SetContext),
      AITUNE_FAKE(cuEventRecord, RecordEvent),
      AITUNE_FAKE(cuMemAlloc, Allocate),
      AITUNE_FAKE(cuMemFree, Free),
      AITUNE_FAKE(cuMemGetInfo, MemoryInfo),
      AITUNE_FAKE(cuMemHostAlloc, AllocateHost),
      AITUNE_FAKE(cuMemFreeHost, FreeHost),
      AITUNE_FAKE(cuMemcpyHtoD, ToDevice),
      AITUNE_FAKE(cuMemcpyDtoH, FromDevice),
      AITUNE_FAKE(cuMemcpyDtoDAsync, WithinDevice),
      AITUNE_FAKE(cuMemsetD8Async, Set),
      AITUNE_FAKE(cuModuleLoadData, LoadModule),
      AITUNE_FAKE(cuModuleGetFunction, FindFunction),
      AITUNE_FAKE(cuLaunchKernelEx, Launch),
      AITUNE_FAKE(cuStreamCreate, NewStream),
      AITUNE_FAKE(cuEventCreate, NewEvent),
      AITUNE_FAKE(cuStreamBeginCapture, BeginCapture),
      AITUNE_FAKE(cuStreamEndCapture, EndCapture),
      AITUNE_FAKE(cuStreamIsCapturing, IsCapturing),
      AITUNE_FAKE(cuGraphInstantiate, Instantiate),
      AITUNE_FAKE(cuGraphLaunch, LaunchGraph),
      AITUNE_FAKE(cuGetErrorName, ErrorName),
      AITUNE_FAKE(cuGetErrorString, ErrorText),
  };
  for (const auto& [name, function] : changed) functions[name] = function;
  return [functions = std::move(functions)](const char* name) {
    const auto found = functions.find(name);
    return found == functions.end() ? reinterpret_cast<void*>(Succeed)
                                    : found->second;
  };
}

const Device& NewFakeDevice(std::map<std::string, void*> changed) {
  const auto* const driver = new absl::StatusOr<Driver>(
      LoadDriver(FakeDriverFunctions(std::move(changed))));
  return *Device::Create(**driver, 0)->release();
}

const Device& FakeDevice() {
  static const Device& device = NewFakeDevice();
  return device;
}

}  // namespace aitune::cuda
