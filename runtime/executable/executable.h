// A compiled model, ready to run: the plan, its kernels, its constants and its
// fallback regions. This is the interface for all devices; cpu_executable.h and
// runtime/cuda/cuda_executable.h implement it.
#ifndef AITUNE_RUNTIME_EXECUTABLE_EXECUTABLE_H_
#define AITUNE_RUNTIME_EXECUTABLE_EXECUTABLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/control/host_allocator.h"
#include "runtime/executable/fallback_region.h"
#include "runtime/executable/memory_use.h"
#include "runtime/plan/plan.pb.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune {

class InputBinding;
class LoadedPlan;
class ResultPool;

// The measured time of one step of a plan.
struct StepProfile {
  std::string name;         // Step.name of the plan
  double microseconds = 0;  // median over the profiled runs
};

// A value of the plan, and memory of the host for a copy of it.
struct ValueCopy {
  int32_t value = 0;
  TensorView to;  // memory of the value's dtype and sizes
};

// Thread-safe; concurrent calls run concurrently.
class Executable {
 public:
  virtual ~Executable() = default;
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  // The sizes, in elements, of each output for inputs of these sizes; empty for
  // outputs that are opaque. kInvalidArgument when the inputs do not fit the
  // plan (count, dtype, rank, fixed size, range of a dynamic axis): the text
  // names the input, what was expected and what was given.
  absl::StatusOr<std::vector<std::vector<int64_t>>> OutputSizes(
      absl::Span<const TensorView> inputs) const;

  // Whether output `output`, a tensor, can be had without memory of the caller:
  // LibTorch computes it last, and Run gives LibTorch's tensor where it finds
  // an empty OpaqueValue. That spares a copy.
  virtual bool GivesOutput(int /*output*/) const { return false; }

  // Runs the model. `inputs` are read in place and must stay until the call
  // returns, or until `stream` has got there. outputs[i] holds a TensorView to
  // be filled (sizes from OutputSizes, memory of the caller) or an empty
  // OpaqueValue where the plan's output is opaque, or is given (GivesOutput);
  // outputs overlap neither each other nor the inputs, and hold anything after
  // an error. On a GPU the work is queued on `stream`, a CUstream; a CPU has
  // none (null). Errors as OutputSizes, kResourceExhausted when memory is
  // short, a fallback region's, or kInvalidArgument for an index out of range
  // or an integer divided by 0: the text names the operator, where it is and
  // the bound.
  virtual absl::Status Run(absl::Span<const TensorView> inputs,
                           absl::Span<RegionValue> outputs,
                           void* stream) const = 0;
  absl::Status Run(absl::Span<const TensorView> inputs,
                   absl::Span<RegionValue> outputs) const {
    return Run(inputs, outputs, nullptr);
  }

  // The median time of each step over `repeats` runs, in the plan's order. On a
  // GPU these are on `stream`, a CUstream that no other work is queued on
  // meanwhile, behind what is there; null: one of its own. Waits for them.
  virtual absl::StatusOr<std::vector<StepProfile>> Profile(
      absl::Span<const TensorView> inputs, absl::Span<RegionValue> outputs,
      int repeats, void* stream) const = 0;
  absl::StatusOr<std::vector<StepProfile>> Profile(
      absl::Span<const TensorView> inputs, absl::Span<RegionValue> outputs,
      int repeats) const {
    return Profile(inputs, outputs, repeats, nullptr);
  }

  // Runs the first `steps` steps as Run does (without a CUDA graph), and then
  // copies values that one of them has written. For finding the step after
  // which a model is wrong: slow, and waits for the GPU. `outputs` as in Run;
  // what no step has written holds anything. Errors as Run; kInvalidArgument
  // for a value without memory, such as an opaque one.
  virtual absl::Status RunPart(absl::Span<const TensorView> inputs,
                               absl::Span<RegionValue> outputs, int steps,
                               absl::Span<const ValueCopy> copies,
                               void* stream) const = 0;

  const ExecutablePlan& plan() const;

  // Bytes that the executable now holds on the device: arenas, packed
  // constants, library scratch, what is free in the result pool and the staging
  // buffers of CUDA graphs. Excludes the constants that the caller of
  // CpuExecutable::Load owns.
  int64_t MemoryInBytes() const { return Memory().total(); }
  // The same by what it is for.
  virtual MemoryUse Memory() const = 0;

  // Frees what is kept for later calls and no call is using: arenas, memory for
  // results, and on a GPU captured graphs. The next call allocates it again.
  // Others may run meanwhile.
  virtual void FreeKeptMemory() const = 0;

  // Has arenas and the memory of result_pool() be the allocator's from the next
  // run on; null: the system's. What is kept of before is freed. Nothing on a
  // GPU. Others may run meanwhile.
  virtual void SetAllocator(
      std::shared_ptr<const HostAllocator> /*allocator*/) const {}

  // Memory for large outputs of Run, which the caller may use instead of its
  // own; as long as the executable. Null on a GPU, whose memory LibTorch keeps.
  virtual ResultPool* result_pool() const { return nullptr; }

  // The error of an earlier Run that was found after it returned: see
  // cuda::CudaExecutable. Always OK on a CPU, where Run returns all errors.
  virtual absl::Status TakeFailedCheck() const { return absl::OkStatus(); }

  // Why a model on a GPU runs without a CUDA graph; empty when it has one, and
  // on a CPU. Valid as long as this. Thread-safe; waits for nobody.
  virtual std::string_view GraphReason() const { return ""; }

 protected:
  // The derived class owns both and must keep them alive.
  Executable(const LoadedPlan& plan, const InputBinding& binding)
      : loaded_plan_(plan), binding_(binding) {}

 private:
  const LoadedPlan& loaded_plan_;
  const InputBinding& binding_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_EXECUTABLE_EXECUTABLE_H_
