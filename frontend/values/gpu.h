// GPUs as LibTorch uses them: its CUDA library, copies of tensors to and from a
// GPU, its current stream, and a clock that runs on the GPU.
#ifndef AITUNE_FRONTEND_VALUES_GPU_H_
#define AITUNE_FRONTEND_VALUES_GPU_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/values/value_list.h"
#include "runtime/device/device.h"

namespace aitune::frontend {

// Loads LibTorch's CUDA library, which this program does not link, and checks
// that the GPU `gpu` works with it. Must be called before the first use of a
// tensor, because LibTorch looks for CUDA only once. The error's text says what
// is missing.
absl::Status StartLibTorchCuda(const Device& gpu);

// Whether there is a driver with a GPU, and a CUDA library of LibTorch, without
// starting either: StartLibTorchCuda may still fail. The error's text says what
// is missing. Thread-safe.
absl::Status LookForLibTorchCuda();

// The same values with every tensor on `device`, or on the CPU. Tensors that
// are there already are not copied. May throw LibTorch's exceptions.
ValueList ToDevice(const ValueList& values, const Device& device);
ValueList ToCpu(const ValueList& values);
c10::IValue ToCpu(const c10::IValue& value);

// As ToDevice, for a program that writes to its arguments: tensors on the CPU
// that share memory have copies that share it likewise. A tensor whose offset
// in the shared memory is no multiple of its element size has a copy of its
// own.
ValueList ToDeviceTogether(const ValueList& values, const Device& device);

// Gives tensors of `here`, on the CPU, the elements of those of `there`, which
// were copies of them on a GPU, where these have changed since. Waits for the
// work on LibTorch's current stream. May throw LibTorch's exceptions.
void CopyChangesBack(const ValueList& there, const ValueList& here);

// The stream of `gpu` that LibTorch queues work on in this thread, as CUstream.
void* CurrentStream(const Device& gpu);

// Waits for the work that LibTorch has queued on its current stream of `gpu` in
// this thread. May throw LibTorch's exceptions.
void WaitForStream(const Device& gpu);

// Makes `stream`, a CUstream of `gpu`, the one that LibTorch queues work on in
// this thread, until it is destroyed. Allocates nothing.
class ScopedStream {
 public:
  ScopedStream(const Device& gpu, void* stream);
  ~ScopedStream();
  ScopedStream(const ScopedStream&) = delete;
  ScopedStream& operator=(const ScopedStream&) = delete;

 private:
  const int gpu_;
  const int64_t previous_;  // LibTorch's number of the stream before
};

// Measures time on a GPU with CUDA events, as users of PyTorch do.
class GpuClock {
 public:
  static absl::StatusOr<std::unique_ptr<GpuClock>> Create(const Device& gpu);
  ~GpuClock();
  // The milliseconds from when the GPU begins the work that `call` queues on
  // the current stream until it has finished it. Waits for the end. Errors:
  // those of `call` and of the driver.
  absl::StatusOr<double> Time(const std::function<absl::Status()>& call) const;

 private:
  struct Impl;
  explicit GpuClock(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_VALUES_GPU_H_
