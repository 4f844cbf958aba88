// The state of a model on a GPU: copies of the buffers that its calls write in
// place (LiveState), which all compiled versions there share. A call there
// reads and writes these; the model on the CPU is given what calls have made of
// them when somebody asks it.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_GPU_STATE_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_GPU_STATE_H_

#include <ATen/core/TensorBody.h>
#include <ATen/core/ivalue.h>

#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/torchscript/model.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/run_gate.h"
#include "runtime/cuda/stream_capture.h"
#include "runtime/device/device.h"

namespace aitune::frontend {

// Runs of compiled versions pass through it: it has them use the state one
// after another, on whatever streams, and gives it the model's where that was
// restored since (CountRestores). Thread-safe.
class GpuState : public cuda::RunGate {
 public:
  // Of `model` on `device`: the same for all programs on the same tensors, as
  // long as somebody keeps it; a new one has the state that the model has now.
  // Null for a model that has no state, or some that compiled code can't share
  // (ModelState::live). Errors: LibTorch's own, such as for lack of memory.
  static absl::StatusOr<std::shared_ptr<GpuState>> Of(const Model& model,
                                                      const Device& device);

  // The copy of the model's tensor `own`; null for a tensor that it has none
  // of. The pointer is valid as long as this.
  const at::Tensor* Find(const at::Tensor& own) const;

  // Gives the copies what the model's tensors have, and the reverse. Both wait
  // for runs that use the copies. kInternal with LibTorch's text.
  absl::Status TakeFromModel();
  absl::Status GiveToModel();

  // kInternal with LibTorch's text if the model's state can't be copied;
  // kFailedPrecondition if it must be while the caller records a graph on
  // `stream`. What is recorded there waits for no other stream.
  absl::Status Enter(CUstream stream) override;
  void Leave(CUstream stream) override;

 private:
  struct Tensor {
    at::Tensor own, there;
  };
  // A program's outermost module, and CountRestores of it as last seen.
  struct Program {
    c10::intrusive_ptr<c10::ivalue::Object> module;
    int64_t restores = 0;
  };

  GpuState(std::vector<Tensor> tensors, const Device& device)
      : tensors_(std::move(tensors)), device_(device) {}
  void Watch(const Model& model);
  bool WasRestored() const;
  // TakeFromModel with the mutex held, on `stream`, LibTorch's current one.
  absl::Status Take(CUstream stream);
  // Copies all tensors, on LibTorch's current stream.
  absl::Status Copy(at::Tensor Tensor::* from, at::Tensor Tensor::* to) const;
  // LibTorch's current stream in this thread; null on the CPU.
  CUstream CurrentStreamOrNull() const;
  bool IsRecorded(CUstream stream) const;
  // Has `stream` wait for the last run, and later runs for what it has now.
  absl::Status WaitOn(CUstream stream) const;
  void RecordUse(CUstream stream);

  const std::vector<Tensor> tensors_;
  const Device device_;
  mutable std::mutex mutex_;  // held from Enter to Leave
  std::vector<Program> programs_;
  const cuda::Device* gpu_ = nullptr;  // null on the CPU, as in tests
  cuda::Event last_;                   // recorded behind the last use
  std::optional<cuda::StreamKey> last_stream_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_GPU_STATE_H_
