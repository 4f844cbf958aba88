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

// The recording on `stream`, null if there is none.
FakeGpu::Recording* RecordingOn(CUstream stream) {
  for (FakeGpu::Recording& recording : TheFakeGpu().recordings_now) {
    if (recording.stream == stream) return &recording;
  }
  return nullptr;
}
bool IsRecorded(CUstream stream) { return RecordingOn(stream) != nullptr; }

// Gives `error`, for which `recording` is lost.
CUresult Disturb(FakeGpu::Recording& recording, CUresult error) {
  if (!std::exchange(recording.is_lost, true)) ++TheFakeGpu().disturbed;
  return error;
}
CUresult DisturbAll(CUresult error) {
  for (FakeGpu::Recording& recording : TheFakeGpu().recordings_now)
    Disturb(recording, error);
  return error;
}

// Of calls that a recording forbids that is not relaxed, in whatever thread it
// is, unless the thread has said that it knows better.
CUresult Unsafe() {
  FakeGpu& gpu = TheFakeGpu();
  if (gpu.thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  for (FakeGpu::Recording& recording : gpu.recordings_now) {
    if (recording.mode != CU_STREAM_CAPTURE_MODE_RELAXED)
      result = Disturb(recording, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }
  return result;
}

// Now, or each time that the graph is launched that is being recorded.
CUresult Queue(CUstream stream, FakeGpu::Work work) {
  FakeGpu::Recording* const recording = RecordingOn(stream);
  if (recording == nullptr) {
    work();
  } else {
    if (recording->is_lost) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    recording->work.push_back(std::move(work));
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
CUresult RecordEvent(CUevent event, CUstream stream) {
  FakeGpu& gpu = TheFakeGpu();
  if (stream == nullptr && gpu.current != FakeGpu::kContext)
    return CUDA_ERROR_INVALID_HANDLE;
  gpu.events[event] = {stream, gpu.busy.count(stream) == 0, IsRecorded(stream)};
  return CUDA_SUCCESS;
}
CUresult WaitForEvent(CUstream stream, CUevent event, unsigned) {
  FakeGpu& gpu = TheFakeGpu();
  const FakeGpu::Mark& mark = gpu.events[event];
  if (IsRecorded(stream) && !mark.is_captured)
    return Disturb(*RecordingOn(stream), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  if (!IsRecorded(stream) && mark.is_captured) return CUDA_ERROR_CAPTURED_EVENT;
  gpu.waits.push_back({stream, mark.stream});
  return CUDA_SUCCESS;
}
CUresult AskEvent(CUevent event) {
  if (const CUresult result = Unsafe(); result != CUDA_SUCCESS) return result;
  const FakeGpu::Mark& mark = TheFakeGpu().events[event];
  if (mark.is_captured) return DisturbAll(CUDA_ERROR_CAPTURED_EVENT);
  return mark.is_over ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CUresult AwaitEvent(CUevent event) {
  if (const CUresult result = Unsafe(); result != CUDA_SUCCESS) return result;
  FakeGpu::Mark& mark = TheFakeGpu().events[event];
  if (mark.is_captured) return DisturbAll(CUDA_ERROR_CAPTURED_EVENT);
  mark.is_over = true;
  return CUDA_SUCCESS;
}
CUresult AwaitStream(CUstream stream) {
  if (IsRecorded(stream))
    return Disturb(*RecordingOn(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  return Unsafe();
}
// Forbidden whatever the modes are.
CUresult AwaitContext() {
  return TheFakeGpu().recording
             ? DisturbAll(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
             : CUDA_SUCCESS;
}
CUresult Allocate(CUdeviceptr* address, size_t bytes) {
  if (const CUresult result = Unsafe(); result != CUDA_SUCCESS) return result;
  FakeGpu& gpu = TheFakeGpu();
  if (gpu.used + bytes > gpu.memory) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(std::malloc(bytes));
  gpu.blocks[*address] = bytes;
  gpu.used += bytes;
  return CUDA_SUCCESS;
}
CUresult Free(CUdeviceptr address) {
  if (const CUresult result = Unsafe(); result != CUDA_SUCCESS) return result;
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
  if (const CUresult result = Unsafe(); result != CUDA_SUCCESS) return result;
  *address = std::malloc(bytes);
  std::memset(*address, 0xff, bytes);
  return CUDA_SUCCESS;
}
CUresult FreeHost(void* address) {
  if (const CUresult result = Unsafe(); result != CUDA_SUCCESS) return result;
  std::free(address);
  return CUDA_SUCCESS;
}
CUresult ToDevice(CUdeviceptr to, const void* from, size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return CUDA_SUCCESS;
}
CUresult ToDeviceLater(CUdeviceptr to, const void* from, size_t bytes,
                       CUstream stream) {
  return Queue(stream, [=] { ToDevice(to, from, bytes); });
}
CUresult FromDevice(void* to, CUdeviceptr from, size_t bytes) {
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return CUDA_SUCCESS;
}
CUresult WithinDevice(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                      CUstream stream) {
  return Queue(stream, [=] {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from),
                bytes);
  });
}
CUresult Set(CUdeviceptr to, unsigned char byte, size_t bytes,
             CUstream stream) {
  return Queue(stream,
               [=] { std::memset(reinterpret_cast<void*>(to), byte, bytes); });
}
CUresult LoadModule(CUmodule* module, const void*) {
  if (const CUresult result = Unsafe(); result != CUDA_SUCCESS) return result;
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
CUresult Launch(const CUlaunchConfig* config, CUfunction function,
                void** parameters, void**) {
  FakeGpu& gpu = TheFakeGpu();
  if (gpu.launch != CUDA_SUCCESS) return gpu.launch;
  ++(IsRecorded(config->hStream) ? gpu.recorded : gpu.launches);
  return Queue(
      config->hStream,
      gpu.kernels.at(gpu.functions.at(PositionOf(function)))(parameters));
}
CUresult NewStream(CUstream* stream, unsigned) {
  *stream = reinterpret_cast<CUstream>(0x1000 + ++TheFakeGpu().last_handle);
  return CUDA_SUCCESS;
}
// Seen on an H200: refused for a stream that records, whatever the modes are.
CUresult StreamId(CUstream stream, unsigned long long* id) {
  if (IsRecorded(stream))
    return Disturb(*RecordingOn(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  const auto& ids = TheFakeGpu().stream_ids;
  const auto found = ids.find(stream);
  *id =
      found == ids.end() ? reinterpret_cast<uintptr_t>(stream) : found->second;
  return CUDA_SUCCESS;
}
CUresult NewEvent(CUevent* event, unsigned) {
  *event = reinterpret_cast<CUevent>(0x1000 + ++TheFakeGpu().last_handle);
  return CUDA_SUCCESS;
}
CUresult ExchangeMode(CUstreamCaptureMode* mode) {
  std::swap(*mode, TheFakeGpu().thread_mode);
  return CUDA_SUCCESS;
}
CUresult BeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  FakeGpu& gpu = TheFakeGpu();
  if (stream == nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (IsRecorded(stream)) return CUDA_ERROR_ILLEGAL_STATE;
  gpu.recordings_now.emplace_back();
  gpu.recordings_now.back().stream = stream;
  gpu.recordings_now.back().mode = mode;
  gpu.recordings_now.back().number = ++gpu.recordings;
  gpu.recording = true;
  // Which may record as well.
  if (const auto meanwhile = std::exchange(gpu.meanwhile, nullptr)) meanwhile();
  return CUDA_SUCCESS;
}
CUresult EndCapture(CUstream stream, CUgraph* graph) {
  FakeGpu& gpu = TheFakeGpu();
  *graph = nullptr;
  FakeGpu::Recording* const recording = RecordingOn(stream);
  if (recording == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  const bool is_lost = recording->is_lost;
  if (!is_lost) {
    gpu.recorded_last = std::move(recording->work);
    *graph = FakeHandle<CUgraph>();
  }
  gpu.recordings_now.erase(gpu.recordings_now.begin() +
                           (recording - gpu.recordings_now.data()));
  gpu.recording = !gpu.recordings_now.empty();
  return is_lost ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}
CUresult IsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  const FakeGpu::Recording* const recording = RecordingOn(stream);
  *status = recording == nullptr ? CU_STREAM_CAPTURE_STATUS_NONE
            : recording->is_lost ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                 : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}
CUresult CaptureInfo(CUstream stream, CUstreamCaptureStatus* status,
                     cuuint64_t* id, CUgraph* graph, const CUgraphNode**,
                     const CUgraphEdgeData**, size_t*) {
  IsCapturing(stream, status);
  if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
  if (id != nullptr) *id = RecordingOn(stream)->number;
  *graph = FakeHandle<CUgraph>();
  return CUDA_SUCCESS;
}
CUresult NewUserObject(CUuserObject* object, void* data, CUhostFn destroy,
                       unsigned, unsigned) {
  FakeGpu& gpu = TheFakeGpu();
  *object = HandleOf<CUuserObject>(gpu.user_objects.size());
  gpu.user_objects.push_back({destroy, data});
  return CUDA_SUCCESS;
}
CUresult RetainUserObject(CUgraph graph, CUuserObject object, unsigned,
                          unsigned flags) {
  if (graph == nullptr || flags != CU_GRAPH_USER_OBJECT_MOVE)
    return CUDA_ERROR_INVALID_VALUE;
  TheFakeGpu().user_objects.at(PositionOf(object)).is_retained = true;
  return CUDA_SUCCESS;
}
// Of the last recording.
CUresult Instantiate(CUgraphExec* graph, CUgraph, unsigned long long) {
  FakeGpu& gpu = TheFakeGpu();
  if (gpu.graph != CUDA_SUCCESS) return gpu.graph;
  *graph = HandleOf<CUgraphExec>(gpu.graphs.size());
  gpu.graphs.push_back(std::move(gpu.recorded_last));
  return CUDA_SUCCESS;
}
CUresult LaunchGraph(CUgraphExec graph, CUstream stream) {
  if (IsRecorded(stream))
    return Disturb(*RecordingOn(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  ++TheFakeGpu().graph_launches;
  for (const FakeGpu::Work& work : TheFakeGpu().graphs.at(PositionOf(graph)))
    work();
  return CUDA_SUCCESS;
}
CUresult ErrorName(CUresult, const char** text) {
  *text = "CUDA_ERROR_FAKE";
  return CUDA_SUCCESS;
}
CUresult ErrorText(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
              ? "a made-up recording was disturbed"
              : "a made-up failure";
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

void FakeGpu::DestroyCallersGraphs() {
  for (UserObject& object : user_objects) {
    if (std::exchange(object.is_retained, false)) object.destroy(object.data);
  }
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
      AITUNE_FAKE(cuCtxSynchronize, AwaitContext),
      AITUNE_FAKE(cuEventRecord, RecordEvent),
      AITUNE_FAKE(cuEventQuery, AskEvent),
      AITUNE_FAKE(cuEventSynchronize, AwaitEvent),
      AITUNE_FAKE(cuStreamWaitEvent, WaitForEvent),
      AITUNE_FAKE(cuStreamSynchronize, AwaitStream),
      AITUNE_FAKE(cuStreamGetId, StreamId),
      AITUNE_FAKE(cuStreamGetCaptureInfo, CaptureInfo),
      AITUNE_FAKE(cuThreadExchangeStreamCaptureMode, ExchangeMode),
      AITUNE_FAKE(cuUserObjectCreate, NewUserObject),
      AITUNE_FAKE(cuGraphRetainUserObject, RetainUserObject),
      AITUNE_FAKE(cuMemAlloc, Allocate),
      AITUNE_FAKE(cuMemFree, Free),
      AITUNE_FAKE(cuMemGetInfo, MemoryInfo),
      AITUNE_FAKE(cuMemHostAlloc, AllocateHost),
      AITUNE_FAKE(cuMemFreeHost, FreeHost),
      AITUNE_FAKE(cuMemcpyHtoD, ToDevice),
      AITUNE_FAKE(cuMemcpyHtoDAsync, ToDeviceLater),
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
