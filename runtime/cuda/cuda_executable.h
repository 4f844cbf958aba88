// A compiled model on a GPU: for plans whose device is "cuda".
//
// A call queues the model's work on the caller's stream and returns; LibTorch
// is not involved. All intermediate values live in an arena planned at load.
// From the second call with the same sizes on, the whole model is one CUDA
// graph: launching it costs the host some microseconds however many kernels
// there are. A graph holds the addresses of inputs and outputs, so one is kept
// for each of the few combinations of addresses that a caller's allocator
// hands out in turn; for a caller whose addresses never repeat, the graph uses
// staging buffers of the executable, to and from which inputs and outputs are
// copied. No graph is used where GraphReason says so.
//
// An index out of range is found when the GPU gets there, after Run has
// returned; the results are then of no use, but no memory outside of a tensor
// was read. The caller gets the error from TakeFailedCheck after waiting for
// the stream; otherwise the next call returns it and runs nothing; otherwise it
// is logged when the executable is destroyed. The same holds for calls in a
// CUDA graph that the caller records.
//
// A caller may record calls in a graph of its own, in any mode, while other
// threads make calls. The memory of such a call is that graph's (and that of
// later calls in the same recording on the same stream): no other call gets it,
// so that the graph may run at any time and on any stream. It is free again
// once the graph and all that was made of it are destroyed, and counts in
// Memory until then. The graph must not run when the executable is destroyed.
#ifndef AITUNE_RUNTIME_CUDA_CUDA_EXECUTABLE_H_
#define AITUNE_RUNTIME_CUDA_CUDA_EXECUTABLE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/cuda/after_call.h"
#include "runtime/cuda/algorithms.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/region_recorder.h"
#include "runtime/cuda/run_gate.h"
#include "runtime/executable/executable.h"
#include "runtime/executable/loaded_plan.h"

namespace aitune::cuda {

class CudaExecutable : public Executable {
 public:
  struct Options {
    // Whether calls may use CUDA graphs. False: every call queues each step.
    bool graphs = true;
    // Allocates the memory of constants and persistent values, and waits for
    // what it is filled with. Null: the executable allocates it on the GPU.
    std::shared_ptr<DeviceMemory> memory;
    // Records fallback regions into graphs. Null: a plan with fallback regions
    // runs without graphs.
    std::shared_ptr<RegionRecorder> recorder;
    // What each run passes through. Null: nothing.
    std::shared_ptr<RunGate> gate;
    // What callers queue after a call.
    AfterCall next = AfterCall::kAnything;
    // The algorithms by which libraries may compute their calls.
    Algorithms algorithms = Algorithms::kAny;
  };

  // As CpuExecutable::Load. `cubins` are the contents of cubin files, which
  // define the plan's kernels and are read during the call only. Fallback
  // regions read and write the GPU's memory on LibTorch's current stream; what
  // they keep must be there. Waits for its own work alone, so that no other
  // thread's recording of a graph is lost.
  static absl::StatusOr<std::unique_ptr<CudaExecutable>> Load(
      const Device& device, ExecutablePlan plan,
      const std::vector<std::string>& cubins,
      std::vector<ConstantTensor> constants,
      std::vector<std::unique_ptr<FallbackRegion>> regions,
      const Options& options);
  ~CudaExecutable() override;

  // Queues one run of the model on `stream`. Inputs and outputs are the GPU's
  // memory and must stay until the stream has got there; what is not aligned
  // to 16 bytes is copied to memory that is, and what is written there is
  // copied back. Otherwise as Executable::Run. kResourceExhausted when memory
  // is short: the executable stays usable. kInvalidArgument also for what
  // TakeFailedCheck gives: this call then queued nothing. kFailedPrecondition
  // when the caller's recording on `stream` has failed before. Thread-safe,
  // also on several streams; CU_STREAM_PER_THREAD is another one in each
  // thread.
  using Executable::Run;
  absl::Status Run(absl::Span<const TensorView> inputs,
                   absl::Span<RegionValue> outputs,
                   void* stream) const override;

  // kInvalidArgument when a check of a kernel failed in an earlier call: the
  // text names the operator, where it is and the bound. Failures of calls whose
  // stream was waited for are certain to be found. Each failure is returned
  // once. Thread-safe.
  absl::Status TakeFailedCheck() const override;

  // As Run, but queues each step without a graph.
  absl::Status Enqueue(absl::Span<const TensorView> inputs,
                       absl::Span<RegionValue> outputs, CUstream stream) const;

  absl::Status RunPart(absl::Span<const TensorView> inputs,
                       absl::Span<RegionValue> outputs, int steps,
                       absl::Span<const ValueCopy> copies,
                       void* stream) const override;
  // The median time of each step, run alone `repeats` times: its operands are
  // then in the L2 cache if they fit. Graphs are recorded on `stream`, so it is
  // no default stream; where there are regions it is LibTorch's current one.
  using Executable::Profile;
  absl::StatusOr<std::vector<StepProfile>> Profile(
      absl::Span<const TensorView> inputs, absl::Span<RegionValue> outputs,
      int repeats, void* stream) const override;

  // Queues on `stream` that what calls left in memory is overwritten: later
  // ones use it again, and must not read it before they write it. To find
  // kernels that do; not while a call is in progress.
  void PoisonMemory(CUstream stream) const;

  // Why this model runs without a CUDA graph; empty when it runs with one.
  // Whether a fallback region can be recorded is known after the second call;
  // the first reason stays. A recording that memory does not suffice for, or
  // that another thread disturbs, is no reason: that call runs without a graph,
  // and a later one tries again.
  std::string_view GraphReason() const override;

  const Device& device() const;

  // Bytes of arenas, constants and staging buffers now held on the GPU.
  MemoryUse Memory() const override;
  // Not of calls in graphs of the caller.
  void FreeKeptMemory() const override;

 private:
  struct Impl;
  explicit CudaExecutable(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_CUDA_EXECUTABLE_H_
