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
  // GPU `ordinal`, as CUDA numbers them, with its primary context, which
  // LibTorch uses too. Errors as GetDriver; kInvalidArgument for a GPU that
  // does not exist; kFailedPrecondition for one with a compute capability
  // below 8.0. Thread-safe. The result lives as long as the process.
  static absl::StatusOr<const Device*> Open(int ordinal);

  // The same with the caller's driver, which must outlive the device.
  static absl::StatusOr<std::unique_ptr<Device>> Create(const Driver& driver,
                                                        int ordinal);

  const Driver& driver() const { return driver_; }
  int ordinal() const { return ordinal_; }
  const std::string& name() const { return name_; }
  // Ten times the compute capability: 90 for 9.0.
  int arch() const { return arch_; }
  int multiprocessors() const { return multiprocessors_; }
  int64_t l2_bytes() const { return l2_bytes_; }
  // The most shared memory, in bytes, that a block may ask for.
  int shared_memory_per_block() const { return shared_memory_per_block_; }

  // Makes the GPU's context current on this thread. A thread must do so before
  // it makes other calls of the driver for this GPU.
  absl::Status MakeCurrent() const;
  CUcontext context() const { return context_; }

  // The memory, in bytes, that no process has now; 0 if the driver does not
  // tell.
  int64_t FreeBytes() const;

  // Waits for all work of the GPU. No thread may record a graph meanwhile,
  // whose recording would be lost. kInternal, with CUDA's own words, if any of
  // this process's ever failed: after a fault the GPU refuses all its calls.
  absl::Status Synchronize() const;

 private:
  explicit Device(const Driver& driver) : driver_(driver) {}

  const Driver& driver_;
  int ordinal_ = 0, arch_ = 0, multiprocessors_ = 0;
  int shared_memory_per_block_ = 0;
  int64_t l2_bytes_ = 0;
  std::string name_;
  CUcontext context_ = nullptr;
};

// The GPU's context on this thread while it lives; then the one that was there
// before, because a program that uses several GPUs (LibTorch's current device
// is the current context's) must find its own after a call. The default stream
// (null) is that of the current context, so whatever records events on a
// caller's stream needs it too.
class ContextScope {
 public:
  // kInternal if the driver refuses. For the thread that calls it.
  static absl::StatusOr<ContextScope> Enter(const Device& device);

  ContextScope(ContextScope&& other) noexcept
      : driver_(std::exchange(other.driver_, nullptr)),
        before_(other.before_) {}
  ContextScope& operator=(ContextScope&&) = delete;
  ~ContextScope();

 private:
  ContextScope(const Driver* driver, CUcontext before)
      : driver_(driver), before_(before) {}

  // Null where nothing has to be restored.
  const Driver* driver_;
  CUcontext before_;
};

// Memory on a GPU, aligned to 256 bytes. Movable; a default-constructed one is
// empty.
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

  // Uninitialised memory. 0 bytes give an empty buffer. The text of
  // kResourceExhausted says how much was asked for and how much is free.
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
// address, without a copy. It is zero at first. Movable; a default-constructed
// one is empty.
class MappedBuffer {
 public:
  MappedBuffer() = default;
  MappedBuffer(MappedBuffer&& other) noexcept { *this = std::move(other); }
  MappedBuffer& operator=(MappedBuffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    return *this;
  }
  // Work that may write to the memory must have ended.
  ~MappedBuffer();

  // 0 bytes give an empty buffer. kResourceExhausted when memory is short.
  static absl::StatusOr<MappedBuffer> Allocate(const Device& device,
                                               int64_t bytes);

  void* data() const { return data_; }

 private:
  const Device* device_ = nullptr;
  void* data_ = nullptr;
};

// A stream for work at load and for measurements; calls of a model run on the
// caller's stream. Movable.
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
  // What is queued from here on runs behind what `other` has now. No graph is
  // recorded on either.
  absl::Status WaitFor(CUstream other) const;

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
  // `timed`: whether MillisecondsSince may be called with this event.
  static absl::StatusOr<Event> Create(const Device& device, bool timed);
  CUevent get() const { return event_; }
  absl::Status Record(CUstream stream) const;
  // Whether all work has ended that was queued before the last Record, which
  // was not of a stream that recorded a graph; also after Record was never
  // called. Other threads may record graphs meanwhile.
  bool IsOver() const;
  // Waits until it has.
  absl::Status Synchronize() const;
  // Milliseconds of the GPU's clock from `start` to this event. Both must have
  // been recorded; waits until this one is reached.
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
  // Loads the contents of a cubin file. kInvalidArgument when the code is
  // damaged or for another GPU.
  static absl::StatusOr<Module> Load(const Device& device,
                                     const std::string& cubin);
  // The kernel of this name, valid while the module lives; null when there is
  // none.
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
  // Records the work that `enqueue` queues on `stream`, which must not be a
  // default stream. The work is not run. An error of `enqueue` ends the
  // recording and is returned.
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
