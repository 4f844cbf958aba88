// A GPU: its properties, and memory, streams, events and code on it.
#ifndef AITUNE_RUNTIME_CUDA_DEVICE_H_
#define AITUNE_RUNTIME_CUDA_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/cuda/driver.h"

namespace aitune::cuda {

class Device {
 public:
  // GPU `ordinal` as CUDA numbers it, through its primary context, which is
  // LibTorch's too. Errors as GetDriver; kInvalidArgument for a GPU that there
  // is not; kFailedPrecondition for one older than compute capability 8.0.
  // Thread-safe; the result stays for the life of the process.
  static absl::StatusOr<const Device*> Open(int ordinal);

  // The same on a driver of the caller's, which must outlive the device.
  static absl::StatusOr<std::unique_ptr<Device>> Create(const Driver& driver,
                                                        int ordinal);

  const Driver& driver() const { return driver_; }
  int ordinal() const { return ordinal_; }
  const std::string& name() const { return name_; }
  // 90 for compute capability 9.0.
  int arch() const { return arch_; }
  int multiprocessors() const { return multiprocessors_; }
  int64_t l2_bytes() const { return l2_bytes_; }
  // The most shared memory that a block may ask for.
  int shared_memory_per_block() const { return shared_memory_per_block_; }

  // Makes the GPU's context that of this thread: before any other call on it.
  absl::Status MakeCurrent() const;

 private:
  explicit Device(const Driver& driver) : driver_(driver) {}

  const Driver& driver_;
  int ordinal_ = 0, arch_ = 0, multiprocessors_ = 0;
  int shared_memory_per_block_ = 0;
  int64_t l2_bytes_ = 0;
  std::string name_;
  CUcontext context_ = nullptr;
};

// Memory on a GPU, aligned to 256 bytes. Movable; a default one holds nothing.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DeviceBuffer();

  // 0 bytes give an empty buffer. kResourceExhausted says how much was asked
  // for and how much is free.
  static absl::StatusOr<DeviceBuffer> Allocate(const Device& device,
                                               int64_t bytes);

  char* data() const { return reinterpret_cast<char*>(address_); }
  int64_t bytes() const { return bytes_; }

 private:
  const Device* device_ = nullptr;
  CUdeviceptr address_ = 0;
  int64_t bytes_ = 0;
};

// Memory of the host that the GPU reads and writes in place, at the same
// address, without a copy. Zeros at first. Movable; a default one holds
// nothing.
class MappedBuffer {
 public:
  MappedBuffer() = default;
  MappedBuffer(MappedBuffer&& other) noexcept { *this = std::move(other); }
  MappedBuffer& operator=(MappedBuffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    return *this;
  }
  // Waits for all that the GPU does, which might write to it.
  ~MappedBuffer();

  // 0 bytes give an empty buffer. kResourceExhausted when memory is short.
  static absl::StatusOr<MappedBuffer> Allocate(const Device& device,
                                               int64_t bytes);

  void* data() const { return data_; }

 private:
  const Device* device_ = nullptr;
  void* data_ = nullptr;
};

// A stream of ours, for work at load and for measuring; calls of a model run on
// the caller's.
class Stream {
 public:
  Stream() = default;
  Stream(Stream&& other) noexcept { *this = std::move(other); }
  Stream& operator=(Stream&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~Stream();
  static absl::StatusOr<Stream> Create(const Device& device);
  CUstream get() const { return stream_; }
  absl::Status Synchronize() const;

 private:
  const Device* device_ = nullptr;
  CUstream stream_ = nullptr;
};

class Event {
 public:
  Event() = default;
  Event(Event&& other) noexcept { *this = std::move(other); }
  Event& operator=(Event&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(event_, other.event_);
    return *this;
  }
  ~Event();
  static absl::StatusOr<Event> Create(const Device& device, bool timed);
  CUevent get() const { return event_; }
  absl::Status Record(CUstream stream) const;
  // Milliseconds from `start` to this one, both recorded; waits for this one.
  absl::StatusOr<float> MillisecondsSince(const Event& start) const;

 private:
  const Device* device_ = nullptr;
  CUevent event_ = nullptr;
};

// Machine code (a cubin) on a GPU.
class Module {
 public:
  Module() = default;
  Module(Module&& other) noexcept { *this = std::move(other); }
  Module& operator=(Module&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(module_, other.module_);
    return *this;
  }
  ~Module();
  // kInvalidArgument when the code is not for this GPU or damaged.
  static absl::StatusOr<Module> Load(const Device& device,
                                     const std::string& cubin);
  // Null when there is no such kernel.
  CUfunction Find(const std::string& symbol) const;

 private:
  const Device* device_ = nullptr;
  CUmodule module_ = nullptr;
};

// A recorded sequence of work, ready to be launched again and again.
class Graph {
 public:
  Graph() = default;
  Graph(Graph&& other) noexcept { *this = std::move(other); }
  Graph& operator=(Graph&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(graph_, other.graph_);
    return *this;
  }
  ~Graph();
  // Records what `enqueue` queues on `stream`, which must be no default stream.
  // An error of `enqueue` ends the recording and is returned.
  template <typename Enqueue>
  static absl::StatusOr<Graph> Capture(const Device& device, CUstream stream,
                                       Enqueue enqueue) {
    absl::Status status = Begin(device, stream);
    if (!status.ok()) return status;
    return End(device, stream, enqueue());
  }
  absl::Status Launch(CUstream stream) const;
  explicit operator bool() const { return graph_ != nullptr; }

 private:
  static absl::Status Begin(const Device& device, CUstream stream);
  static absl::StatusOr<Graph> End(const Device& device, CUstream stream,
                                   absl::Status enqueued);

  const Device* device_ = nullptr;
  CUgraphExec graph_ = nullptr;
};

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_DEVICE_H_
