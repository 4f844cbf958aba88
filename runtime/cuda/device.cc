#include "runtime/cuda/device.h"

#include <cstring>
#include <map>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/stream_capture.h"
#include "runtime/status/status_macros.h"

namespace aitune::cuda {
namespace {

constexpr int kOldestArch = 80;

}  // namespace

absl::StatusOr<const Device*> Device::Open(int ordinal) {
  static std::mutex* mutex = new std::mutex();
  static auto* devices = new std::map<int, std::unique_ptr<Device>>();
  std::lock_guard<std::mutex> lock(*mutex);
  std::unique_ptr<Device>& device = (*devices)[ordinal];
  if (device == nullptr) {
    AITUNE_ASSIGN_OR_RETURN(const Driver* driver, GetDriver());
    AITUNE_ASSIGN_OR_RETURN(device, Create(*driver, ordinal));
  }
  return device.get();
}

absl::StatusOr<std::unique_ptr<Device>> Device::Create(const Driver& driver,
                                                       int ordinal) {
  int count = 0;
  AITUNE_RETURN_IF_ERROR(
      driver.Check(driver.cuDeviceGetCount(&count), "counting GPUs"));
  if (ordinal < 0 || ordinal >= count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no GPU cuda:", ordinal, "; this machine has ", count));
  }
  std::unique_ptr<Device> device(new Device(driver));
  CUdevice handle;
  AITUNE_RETURN_IF_ERROR(
      driver.Check(driver.cuDeviceGet(&handle, ordinal), "opening the GPU"));
  device->ordinal_ = ordinal;
  char name[256] = {};
  driver.cuDeviceGetName(name, sizeof(name) - 1, handle);
  device->name_ = name;
  auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    driver.cuDeviceGetAttribute(&value, which, handle);
    return value;
  };
  device->arch_ = 10 * attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                  attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  device->multiprocessors_ =
      attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  device->l2_bytes_ = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  device->shared_memory_per_block_ =
      attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  if (device->arch_ < kOldestArch) {
    return absl::FailedPreconditionError(absl::StrCat(
        "GPU cuda:", ordinal, " (", device->name_, ") has compute capability ",
        device->arch_ / 10, ".", device->arch_ % 10,
        "; at least 8.0 (Ampere) is needed. Use --device cpu."));
  }
  AITUNE_RETURN_IF_ERROR(
      driver.Check(driver.cuDevicePrimaryCtxRetain(&device->context_, handle),
                   "opening the GPU's context"));
  return device;
}

absl::Status Device::MakeCurrent() const {
  CUcontext current = nullptr;
  driver_.cuCtxGetCurrent(&current);
  if (current == context_) return absl::OkStatus();
  return driver_.Check(driver_.cuCtxSetCurrent(context_),
                       "changing to the GPU's context");
}

absl::Status Device::Synchronize() const {
  AITUNE_ASSIGN_OR_RETURN(const ContextScope scope, ContextScope::Enter(*this));
  return driver_.Check(driver_.cuCtxSynchronize(), "waiting for the GPU");
}

int64_t Device::FreeBytes() const {
  const auto scope = ContextScope::Enter(*this);
  size_t free = 0, total = 0;
  if (!scope.ok() || driver_.cuMemGetInfo(&free, &total) != CUDA_SUCCESS)
    return 0;
  return static_cast<int64_t>(free);
}

absl::StatusOr<ContextScope> ContextScope::Enter(const Device& device) {
  const Driver& driver = device.driver();
  CUcontext before = nullptr;
  driver.cuCtxGetCurrent(&before);
  if (before == device.context()) return ContextScope(nullptr, before);
  AITUNE_RETURN_IF_ERROR(device.MakeCurrent());
  return ContextScope(&driver, before);
}

ContextScope::~ContextScope() {
  if (driver_ != nullptr) driver_->cuCtxSetCurrent(before_);
}

// Here and below, what has no device has nothing to free: a call of the driver
// that fails may leave anything in the handle.
DeviceBuffer::~DeviceBuffer() {
  if (device_ == nullptr) return;
  const auto scope = ContextScope::Enter(*device_);
  const RelaxedCapture relaxed(device_->driver());
  if (scope.ok()) device_->driver().cuMemFree(address_);
}

absl::StatusOr<DeviceBuffer> DeviceBuffer::Allocate(const Device& device,
                                                    int64_t bytes) {
  DeviceBuffer buffer;
  if (bytes == 0) return buffer;
  AITUNE_ASSIGN_OR_RETURN(const ContextScope scope,
                          ContextScope::Enter(device));
  const RelaxedCapture relaxed(device.driver());
  const CUresult result =
      device.driver().cuMemAlloc(&buffer.address_, static_cast<size_t>(bytes));
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    size_t free = 0, total = 0;
    device.driver().cuMemGetInfo(&free, &total);
    return absl::ResourceExhaustedError(absl::StrCat(
        "cuda:", device.ordinal(), ": out of memory: ", bytes >> 20,
        " MiB are needed, ", free >> 20, " of ", total >> 20,
        " MiB are free. Smaller inputs or fewer models need less."));
  }
  AITUNE_RETURN_IF_ERROR(device.driver().Check(
      result, absl::StrCat("allocating ", bytes, " bytes")));
  buffer.device_ = &device;
  buffer.bytes_ = bytes;
  return buffer;
}

MappedBuffer::~MappedBuffer() {
  if (device_ == nullptr) return;
  const auto scope = ContextScope::Enter(*device_);
  if (!scope.ok()) return;
  const RelaxedCapture relaxed(device_->driver());
  device_->driver().cuMemFreeHost(data_);
}

absl::StatusOr<MappedBuffer> MappedBuffer::Allocate(const Device& device,
                                                    int64_t bytes) {
  MappedBuffer buffer;
  if (bytes == 0) return buffer;
  AITUNE_ASSIGN_OR_RETURN(const ContextScope scope,
                          ContextScope::Enter(device));
  const RelaxedCapture relaxed(device.driver());
  const auto size = static_cast<size_t>(bytes);
  // Any context may use it, and with unified addresses the GPU's is ours.
  AITUNE_RETURN_IF_ERROR(device.driver().Check(
      device.driver().cuMemHostAlloc(
          &buffer.data_, size,
          CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
      absl::StrCat("allocating ", bytes, " bytes of the host's memory")));
  buffer.device_ = &device;
  std::memset(buffer.data_, 0, size);
  return buffer;
}

Stream::~Stream() {
  if (device_ == nullptr) return;
  const auto scope = ContextScope::Enter(*device_);
  if (scope.ok()) device_->driver().cuStreamDestroy(stream_);
}

absl::StatusOr<Stream> Stream::Create(const Device& device) {
  AITUNE_ASSIGN_OR_RETURN(const ContextScope scope,
                          ContextScope::Enter(device));
  Stream stream;
  AITUNE_RETURN_IF_ERROR(device.driver().Check(
      device.driver().cuStreamCreate(&stream.stream_, CU_STREAM_NON_BLOCKING),
      "making a stream"));
  stream.device_ = &device;
  return stream;
}

absl::Status Stream::Synchronize() const {
  const RelaxedCapture relaxed(device_->driver());
  return device_->driver().Check(device_->driver().cuStreamSynchronize(stream_),
                                 "running on the GPU");
}

absl::Status Stream::WaitFor(CUstream other) const {
  AITUNE_ASSIGN_OR_RETURN(const Event event,
                          Event::Create(*device_, /*timed=*/false));
  AITUNE_RETURN_IF_ERROR(event.Record(other));
  return device_->driver().Check(
      device_->driver().cuStreamWaitEvent(stream_, event.get(), 0),
      "waiting for another stream");
}

Event::~Event() {
  if (device_ == nullptr) return;
  const auto scope = ContextScope::Enter(*device_);
  if (scope.ok()) device_->driver().cuEventDestroy(event_);
}

absl::StatusOr<Event> Event::Create(const Device& device, bool timed) {
  AITUNE_ASSIGN_OR_RETURN(const ContextScope scope,
                          ContextScope::Enter(device));
  Event event;
  AITUNE_RETURN_IF_ERROR(device.driver().Check(
      device.driver().cuEventCreate(
          &event.event_, timed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING),
      "making an event"));
  event.device_ = &device;
  return event;
}

absl::Status Event::Record(CUstream stream) const {
  AITUNE_ASSIGN_OR_RETURN(const ContextScope scope,
                          ContextScope::Enter(*device_));
  return device_->driver().Check(
      device_->driver().cuEventRecord(event_, stream), "recording an event");
}

bool Event::IsOver() const {
  const RelaxedCapture relaxed(device_->driver());
  return device_->driver().cuEventQuery(event_) == CUDA_SUCCESS;
}

absl::Status Event::Synchronize() const {
  const RelaxedCapture relaxed(device_->driver());
  return device_->driver().Check(device_->driver().cuEventSynchronize(event_),
                                 "running on the GPU");
}

absl::StatusOr<float> Event::MillisecondsSince(const Event& start) const {
  const Driver& driver = device_->driver();
  AITUNE_RETURN_IF_ERROR(Synchronize());
  float milliseconds = 0;
  AITUNE_RETURN_IF_ERROR(driver.Check(
      driver.cuEventElapsedTime(&milliseconds, start.event_, event_),
      "reading a time"));
  return milliseconds;
}

Module::~Module() {
  if (device_ == nullptr) return;
  const auto scope = ContextScope::Enter(*device_);
  const RelaxedCapture relaxed(device_->driver());
  if (scope.ok()) device_->driver().cuModuleUnload(module_);
}

absl::StatusOr<Module> Module::Load(const Device& device,
                                    const std::string& cubin) {
  AITUNE_ASSIGN_OR_RETURN(const ContextScope scope,
                          ContextScope::Enter(device));
  const RelaxedCapture relaxed(device.driver());
  Module module;
  const CUresult result =
      device.driver().cuModuleLoadData(&module.module_, cubin.data());
  if (result == CUDA_ERROR_NO_BINARY_FOR_GPU ||
      result == CUDA_ERROR_INVALID_IMAGE ||
      result == CUDA_ERROR_INVALID_SOURCE) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a kernel's machine code does not fit cuda:", device.ordinal(), " (",
        device.name(), ", sm_", device.arch(),
        "): it was compiled for another GPU or is damaged. Compile again."));
  }
  AITUNE_RETURN_IF_ERROR(device.driver().Check(result, "loading a kernel"));
  module.device_ = &device;
  return module;
}

CUfunction Module::Find(const std::string& symbol) const {
  CUfunction function = nullptr;
  if (device_->driver().cuModuleGetFunction(&function, module_,
                                            symbol.c_str()) != CUDA_SUCCESS) {
    return nullptr;
  }
  return function;
}

Graph::~Graph() {
  if (device_ == nullptr) return;
  const auto scope = ContextScope::Enter(*device_);
  const RelaxedCapture relaxed(device_->driver());
  if (scope.ok()) device_->driver().cuGraphExecDestroy(graph_);
}

absl::Status Graph::Begin(const Device& device, CUstream stream) {
  AITUNE_ASSIGN_OR_RETURN(const ContextScope scope,
                          ContextScope::Enter(device));
  return device.driver().Check(device.driver().cuStreamBeginCapture(
                                   stream, CU_STREAM_CAPTURE_MODE_RELAXED),
                               "recording a graph");
}

absl::StatusOr<Graph> Graph::End(const Device& device, CUstream stream,
                                 absl::Status enqueued) {
  const Driver& driver = device.driver();
  const RelaxedCapture relaxed(driver);
  CUgraph recorded = nullptr;
  absl::Status status = driver.Check(
      driver.cuStreamEndCapture(stream, &recorded), "recording a graph");
  Graph graph;
  if (!enqueued.ok()) status = enqueued;
  if (status.ok()) {
    status = driver.Check(driver.cuGraphInstantiate(&graph.graph_, recorded, 0),
                          "preparing a graph");
    if (status.ok()) graph.device_ = &device;
  }
  if (recorded != nullptr) driver.cuGraphDestroy(recorded);
  if (!status.ok()) return status;
  return graph;
}

absl::Status Graph::Launch(CUstream stream) const {
  return device_->driver().Check(
      device_->driver().cuGraphLaunch(graph_, stream), "launching a graph");
}

}  // namespace aitune::cuda
