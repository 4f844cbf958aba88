// The steps of a plan made ready for one combination of sizes on a GPU.
// Internal to this folder.
#ifndef AITUNE_RUNTIME_CUDA_CUDA_INSTANCE_H_
#define AITUNE_RUNTIME_CUDA_CUDA_INSTANCE_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/cuda/after_call.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/library_call.h"
#include "runtime/cuda/prepare_calls.h"
#include "runtime/cuda/region_recorder.h"
#include "runtime/executable/buffer_slots.h"
#include "runtime/executable/instance_layout.h"
#include "runtime/executable/kernel_checks.h"
#include "runtime/executable/loaded_plan.h"

namespace aitune::cuda {

// The kernels of a plan, by name.
using Kernels = absl::flat_hash_map<std::string, CUfunction>;

class CudaInstance {
 public:
  // As Instance::Create. `plan` and `kernels` must outlive the instance;
  // `next` is what is queued after a call.
  static absl::StatusOr<std::unique_ptr<CudaInstance>> Create(
      const Device& device, const LoadedPlan& plan, const Kernels& kernels,
      bool initialization, AfterCall next, absl::Span<const int64_t> symbols);

  // Memory, addresses and graphs of calls that do not overlap.
  struct Context {
    std::shared_ptr<void> pool;  // of regions in graphs; freed after them
    DeviceBuffer arena;
    MappedBuffer checks;  // KernelCheck[]
    // Of each step, its inputs' and outputs' addresses, one step after another.
    std::vector<void*> buffers;
    // Of each kernel, the addresses of its parameters.
    std::vector<void*> parameters;
    std::vector<OpaqueValue> opaques;  // by value
    Event done;                        // of the last call
    CUstream stream = nullptr;         // of the last call
    bool ran = false;
    struct Recorded {
      std::vector<void*> addresses;  // of inputs and outputs
      Graph graph;
    };
    std::vector<Recorded> graphs;
    // For addresses that do not repeat: a graph on buffers of ours.
    Graph staged;
    std::vector<DeviceBuffer> staging;  // of inputs, then of outputs
  };
  absl::StatusOr<std::unique_ptr<Context>> NewContext() const;

  absl::Status CheckOutputs(absl::Span<const RegionValue> outputs) const {
    return aitune::CheckOutputs(plan_, layout_, outputs);
  }

  // Sets the addresses of a call, then queues all steps, or one.
  void Patch(Context& context, absl::Span<void* const> inputs,
             absl::Span<void* const> outputs) const;
  absl::Status Enqueue(Context& context, CUstream stream) const;
  // The outputs that are copies of other values, after Enqueue.
  absl::Status Copies(Context& context, absl::Span<void* const> outputs,
                      CUstream stream) const;
  absl::Status EnqueueStep(int step, Context& context, CUstream stream) const;

  // What records: a stream, and for plans with regions LibTorch's half.
  struct Recording {
    CUstream stream = nullptr;
    RegionRecorder* regions = nullptr;
    // Set when a region could not be recorded.
    bool refused = false;
  };
  // Queues a run through a graph, recorded where there is none for these
  // addresses.
  absl::Status RunGraph(Context& context, absl::Span<void* const> inputs,
                        absl::Span<void* const> outputs, CUstream stream,
                        Recording& recording) const;

  // After Enqueue: moves opaque outputs to the caller's.
  void TakeOpaqueOutputs(Context& context,
                         absl::Span<RegionValue> outputs) const;

  // A free context, preferably the last one used on `stream`, and its return.
  // The stream waits for what the context still does on another.
  absl::StatusOr<std::unique_ptr<Context>> Take(CUstream stream) const;
  void Return(std::unique_ptr<Context> context, CUstream stream) const;

  // What kernels found in calls that are over, as KernelChecks::Take; in calls
  // that the GPU still works on, perhaps not yet. Thread-safe.
  absl::Status TakeFailedCheck() const;
  // The same of one context that is not free.
  absl::Status TakeFailedCheck(const Context& context) const;

  int step_count() const { return static_cast<int>(steps_.size()); }
  int64_t MemoryInBytes() const { return memory_bytes_; }

 private:
  CudaInstance(const Device& device, const LoadedPlan& plan,
               bool initialization);

  struct Launch {
    CUfunction function = nullptr;
    CUlaunchConfig config{};
    CUlaunchAttribute attribute{};
    int32_t first_parameter = 0;
    // The kernel's last parameter: whether the launch after it waits by itself.
    int32_t next_waits = 0;
    // Of a library's call: all queued before it has ended when it starts.
    bool ends_before = false;
    bool HasBlocks() const {
      return config.gridDimX > 0 && config.gridDimY > 0 && config.gridDimZ > 0;
    }
  };
  absl::Status PrepareKernel(int step, const Kernels& kernels);
  void FindWaits(AfterCall next);
  bool ReadsResidual(int step) const;
  absl::Status PrepareLibraryCalls();
  absl::StatusOr<SharedCall> PrepareLibraryCall(int step) const;
  // What PrepareLibraryCall depends on, as text.
  std::string LibraryCallKey(int step) const;
  void CountBytes();
  absl::Status RunRegion(int step, Context& context) const;
  // Records a run on these addresses, whose inputs `stream` computes.
  absl::StatusOr<Graph> Record(Context& context, absl::Span<void* const> inputs,
                               absl::Span<void* const> outputs, CUstream stream,
                               Recording& recording) const;
  absl::Status Stage(Context& context) const;

  const Device& device_;
  const LoadedPlan& plan_;
  const bool initialization_;
  const std::vector<LoadedStep>& steps_;
  std::vector<int64_t> symbols_;
  InstanceLayout layout_;
  std::vector<Launch> launches_;       // by step
  std::vector<SharedCall> libraries_;  // by step
  BufferSlots slots_;
  KernelChecks checks_;
  std::vector<int64_t> input_bytes_, output_bytes_;
  int32_t parameter_count_ = 0;

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Context>> free_;
  mutable std::atomic<int64_t> memory_bytes_{0};
};

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_CUDA_INSTANCE_H_
