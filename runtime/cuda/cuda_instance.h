// The steps of a plan made ready for one combination of sizes on a GPU.
// Internal to this folder.
#ifndef AITUNE_RUNTIME_CUDA_CUDA_INSTANCE_H_
#define AITUNE_RUNTIME_CUDA_CUDA_INSTANCE_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/cuda/after_call.h"
#include "runtime/cuda/algorithms.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/library_call.h"
#include "runtime/cuda/prepare_calls.h"
#include "runtime/cuda/region_recorder.h"
#include "runtime/cuda/stream_capture.h"
#include "runtime/executable/buffer_slots.h"
#include "runtime/executable/executable.h"
#include "runtime/executable/instance_layout.h"
#include "runtime/executable/kernel_checks.h"
#include "runtime/executable/loaded_plan.h"

namespace aitune::cuda {

// The kernels of a plan, by name.
using Kernels = absl::flat_hash_map<std::string, CUfunction>;

class CudaInstance {
 public:
  // As Instance::Create. `plan` and `kernels` must outlive the instance;
  // `next` is what is queued after a call, `algorithms` are those that
  // libraries may take.
  static absl::StatusOr<std::unique_ptr<CudaInstance>> Create(
      const Device& device, const LoadedPlan& plan, const Kernels& kernels,
      bool initialization, AfterCall next, Algorithms algorithms,
      absl::Span<const int64_t> symbols);

  // Memory, addresses and graphs of calls that do not overlap. Waits for the
  // last of them when it is destroyed.
  struct Context {
    Context() = default;
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    ~Context() {
      if (is_queued) done.Synchronize().IgnoreError();
    }
    // LibTorch's memory for fallback regions in graphs, and the stream on which
    // they are recorded, which has more of it. Declared first, so that they go
    // after the graphs. Null until they are needed.
    std::shared_ptr<const Stream> region_stream;
    std::shared_ptr<void> pool;
    DeviceBuffer arena;
    MappedBuffer checks;  // KernelCheck[]
    // The addresses in all slots of BufferSlots, step after step.
    std::vector<void*> buffers;
    // For each kernel in turn, the addresses of its parameters.
    std::vector<void*> parameters;
    std::vector<OpaqueValue> opaques;  // each value that is no tensor
    StreamKey stream = 0;              // the stream of the last call
    Event done;                        // recorded there after that
    bool is_queued = false;            // whether it was
    bool ran = false;                  // whether there was a call
    // Whether no call uses it now, not even queued work of one.
    bool IsOver() const { return !is_queued || done.IsOver(); }
    struct Recorded {
      // Addresses of the inputs, then of the outputs.
      std::vector<void*> addresses;
      Graph graph;
    };
    std::vector<Recorded> graphs;  // graphs on callers' own addresses
    // The graph on the staging buffers, for callers whose addresses do not
    // repeat; empty until it is needed.
    Graph staged;
    int failed_recordings = 0;  // how many failed in turn
    int unrecorded_calls = 0;   // so many more are before the next try
    // Buffers of the inputs, then of the outputs.
    std::vector<DeviceBuffer> staging;
    // Buffers for those inputs, then outputs, that a call gave at addresses
    // that are not aligned; the others' are empty.
    std::vector<DeviceBuffer> aligned;
  };
  absl::StatusOr<std::unique_ptr<Context>> NewContext() const;

  absl::Status CheckOutputs(absl::Span<const RegionValue> outputs) const {
    return aitune::CheckOutputs(plan_, layout_, outputs);
  }

  // Changes the addresses that are not aligned to 16 bytes to those of buffers
  // of `context`, which get the inputs' elements on `stream`. CopyBack, after
  // the run, queues copies of what the call has written in such buffers to the
  // addresses that were given. kResourceExhausted when memory is short.
  absl::Status Align(Context& context, absl::Span<void*> inputs,
                     absl::Span<void*> outputs, CUstream stream) const;
  absl::Status CopyBack(absl::Span<void* const> inputs,
                        absl::Span<void* const> outputs,
                        absl::Span<void* const> given_inputs,
                        absl::Span<void* const> given_outputs,
                        CUstream stream) const;
  // Sets the addresses of a call's inputs and outputs, all aligned, in
  // `context`.
  void Patch(Context& context, absl::Span<void* const> inputs,
             absl::Span<void* const> outputs) const;
  // Queues all steps, or the first `steps`. Patch must come before.
  absl::Status Enqueue(Context& context, CUstream stream) const {
    return Enqueue(context, stream, step_count());
  }
  absl::Status Enqueue(Context& context, CUstream stream, int steps) const;
  // Copies a value that a step has written, as Executable::RunPart. The steps
  // must have ended.
  absl::Status CopyValue(const Context& context,
                         absl::Span<void* const> outputs,
                         const ValueCopy& copy) const;
  // Queues the copies of outputs that are copies of other values. Enqueue must
  // come before.
  absl::Status Copies(Context& context, absl::Span<void* const> outputs,
                      CUstream stream) const;
  // Queues one step. Patch must come before.
  absl::Status EnqueueStep(int step, Context& context, CUstream stream) const;

  // How graphs are recorded.
  struct Recording {
    // A stream that can record, for plans without regions.
    CUstream stream = nullptr;
    // Held while a graph is recorded, so that calls that have a graph launch it
    // meanwhile.
    std::mutex* mutex = nullptr;
    // Records fallback regions; null for plans without them.
    RegionRecorder* regions = nullptr;
    // How the run ended that was made to try what is to be recorded. It is the
    // call's: regions may write to memory of others. Empty: none was made.
    std::optional<absl::Status> tried;
    // Why what was to be recorded in this call was not.
    absl::Status failure;
  };
  // Queues a run through the graph for these addresses. If there is none, it is
  // recorded for later calls. Returns whether the run is queued: if it is not,
  // as nothing could be recorded now or not long ago, the caller must queue the
  // steps. It is tried again after more calls each time.
  absl::StatusOr<bool> RunGraph(Context& context,
                                absl::Span<void* const> inputs,
                                absl::Span<void* const> outputs,
                                CUstream stream, Recording& recording) const;

  // After Enqueue: moves opaque outputs to the caller's.
  void TakeOpaqueOutputs(Context& context,
                         absl::Span<RegionValue> outputs) const;

  // Take gives a free context, preferably the last one used on `stream`; Return
  // gives it back. If another stream still uses the context, `stream` waits for
  // that. Both are thread-safe. No graph is recorded on `stream`.
  absl::StatusOr<std::unique_ptr<Context>> Take(CUstream stream) const;
  void Return(std::unique_ptr<Context> context, CUstream stream) const;

  // A context that nothing uses, for a call within a graph that the caller
  // records: that may run at any time, on any stream, from now on. It is given
  // back by GiveBack when the graph is gone. Both are thread-safe.
  absl::StatusOr<std::unique_ptr<Context>> TakeForGraph() const;
  void GiveBack(std::unique_ptr<Context> context) const;

  // Waits for the calls of all free contexts.
  void Wait() const;

  // The first failed check of calls that have ended, as KernelChecks::Take. A
  // failure in a call that is still running may be found later. Thread-safe.
  absl::Status TakeFailedCheck() const;
  // The same for one context that is not free.
  absl::Status TakeFailedCheck(const Context& context) const;

  // Fills the arenas of free contexts with bytes that are no number and no
  // index, on `stream`.
  void PoisonMemory(CUstream stream) const;

  int step_count() const { return static_cast<int>(steps_.size()); }
  // Whether a call runs the step: of alternatives it runs one.
  bool runs(int step) const { return layout_.runs(step); }
  MemoryUse Memory() const {
    MemoryUse use;
    use.arenas = arena_bytes_;
    use.graphs = staging_bytes_;
    return use;
  }

 private:
  CudaInstance(const Device& device, const LoadedPlan& plan,
               bool initialization);

  struct Launch {
    CUfunction function = nullptr;
    CUlaunchConfig config{};
    CUlaunchAttribute attribute{};
    int32_t first_parameter = 0;  // index in Context::parameters
    // The kernel's last parameter: 1 if the next launch waits, before it reads,
    // for what this one writes; otherwise 0.
    int32_t next_waits = 0;
    // Whether all work queued before this library call must have ended when it
    // starts.
    bool ends_before = false;
    // Whether it is a library call whose result has no elements, for which
    // there is nothing to do.
    bool is_empty = false;
    bool HasBlocks() const {
      return config.gridDimX > 0 && config.gridDimY > 0 && config.gridDimZ > 0;
    }
  };
  absl::Status PrepareKernel(int step, const Kernels& kernels);
  void FindWaits(AfterCall next);
  absl::Status PrepareLibraryCalls(Algorithms algorithms);
  absl::StatusOr<SharedCall> PrepareLibraryCall(int step,
                                                Algorithms algorithms) const;
  // Everything that PrepareLibraryCall depends on, as text.
  std::string LibraryCallKey(int step) const;
  // Gives the free context of this number to a call. The mutex is held.
  std::unique_ptr<Context> TakeFree(size_t index) const;
  // The number of a free context that nothing uses, if any. The mutex is held.
  std::optional<size_t> FindOver() const;
  void CountBytes();
  absl::Status RunRegion(int step, Context& context) const;
  // Tells the steps where the memory is that a region lends for `value`.
  void PatchLent(int32_t value, void* data, Context& context) const;
  // Records a run on these addresses, after one that is not recorded where
  // there are regions (Recording::tried). `stream` is the one on which the
  // caller computes the inputs. NoteRecording must be told how it went.
  absl::StatusOr<Graph> Record(Context& context, absl::Span<void* const> inputs,
                               absl::Span<void* const> outputs, CUstream stream,
                               Recording& recording) const;
  static void NoteRecording(const absl::Status& status, Context& context,
                            Recording& recording);
  // Memory of calls' inputs and outputs, counted as such.
  absl::StatusOr<std::vector<DeviceBuffer>> NewStaging(
      absl::Span<const int64_t> bytes) const;
  absl::Status Stage(Context& context) const;
  absl::Status QueueCopy(void* to, const void* from, int64_t bytes,
                         CUstream stream) const;

  const Device& device_;
  const LoadedPlan& plan_;
  const bool initialization_;
  const std::vector<LoadedStep>& steps_;
  std::vector<int64_t> symbols_;
  InstanceLayout layout_;
  std::vector<Launch> launches_;  // each step's launch
  // Each step's library call; null for other steps.
  std::vector<SharedCall> libraries_;
  BufferSlots slots_;
  KernelChecks checks_;
  std::vector<int64_t> input_bytes_, output_bytes_;
  int32_t parameter_count_ = 0;

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Context>> free_;
  mutable std::atomic<int64_t> arena_bytes_{0}, staging_bytes_{0};
};

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_CUDA_INSTANCE_H_
