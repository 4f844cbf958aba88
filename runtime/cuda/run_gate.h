// What an executable passes through at each run if its regions use memory that
// others use as well, such as the state of a model, which several executables
// and LibTorch itself read and write; the frontend implements it.
#ifndef AITUNE_RUNTIME_CUDA_RUN_GATE_H_
#define AITUNE_RUNTIME_CUDA_RUN_GATE_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/cuda/driver.h"

namespace aitune::cuda {

// Thread-safe.
class RunGate {
 public:
  virtual ~RunGate() = default;

  // Called before a run queues its work on `stream`: what is queued there from
  // now on finds the memory as the run before has left it, on whatever stream
  // that was. Other threads wait in Enter until Leave. An error ends the run.
  virtual absl::Status Enter(CUstream stream) = 0;

  // Called by the same thread once the work is queued, or could not be.
  virtual void Leave(CUstream stream) = 0;
};

// In the gate for as long as it lives. Of no gate it does nothing.
class ScopedGate {
 public:
  // `gate` must outlive the result, unless it is null.
  static absl::StatusOr<ScopedGate> Enter(RunGate* gate, CUstream stream) {
    if (gate != nullptr) {
      absl::Status status = gate->Enter(stream);
      if (!status.ok()) return status;
    }
    return ScopedGate(gate, stream);
  }
  ~ScopedGate() {
    if (gate_ != nullptr) gate_->Leave(stream_);
  }
  ScopedGate(ScopedGate&& other) noexcept
      : gate_(std::exchange(other.gate_, nullptr)), stream_(other.stream_) {}
  ScopedGate& operator=(ScopedGate&&) = delete;

 private:
  ScopedGate(RunGate* gate, CUstream stream) : gate_(gate), stream_(stream) {}
  RunGate* gate_;
  const CUstream stream_;
};

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_RUN_GATE_H_
