// LibTorch's half of a GPU: its CUDA library, tensors there and back, its
// current stream, and a clock that runs on the GPU.
#ifndef AITUNE_FRONTEND_VALUES_GPU_H_
#define AITUNE_FRONTEND_VALUES_GPU_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/values/value_list.h"

namespace aitune::frontend {

// Loads LibTorch's CUDA library, which this program does not link, and checks
// that GPU `gpu` works with it. Must come before the first use of a tensor:
// LibTorch looks for CUDA once. Errors say what is missing.
absl::Status StartLibTorchCuda(int gpu);

// The same values with every tensor on GPU `gpu`, or on the CPU.
ValueList ToGpu(const ValueList& values, int gpu);
ValueList ToCpu(const ValueList& values);
c10::IValue ToCpu(const c10::IValue& value);

// The stream that LibTorch queues work on in this thread, as CUstream.
void* CurrentStream(int gpu);

// The milliseconds from when the GPU begins what `call` queues on the current
// stream until it has finished: how Inductor's users time, with events.
class GpuClock {
 public:
  static absl::StatusOr<std::unique_ptr<GpuClock>> Create(int gpu);
  ~GpuClock();
  absl::StatusOr<double> Time(const std::function<absl::Status()>& call) const;

 private:
  struct Impl;
  explicit GpuClock(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_VALUES_GPU_H_
