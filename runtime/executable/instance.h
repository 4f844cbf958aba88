// A list of steps made ready for one combination of sizes: every size is
// evaluated, memory is planned, library primitives are compiled. A run then
// writes a few addresses and calls one step after another.
#ifndef AITUNE_RUNTIME_EXECUTABLE_INSTANCE_H_
#define AITUNE_RUNTIME_EXECUTABLE_INSTANCE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/executable/buffer_slots.h"
#include "runtime/executable/executable.h"
#include "runtime/executable/instance_layout.h"
#include "runtime/executable/kernel_checks.h"
#include "runtime/executable/loaded_plan.h"

namespace aitune {

class Instance {
 public:
  // Prepares the plan's steps or, with `initialization`, those that run at
  // load (`symbols` is then empty). symbols[i] is the value of the symbol s`i`
  // in elements. Library calls and regions get `threads` threads. `plan` must
  // outlive the instance. kInvalidArgument for sizes that do not fit,
  // kResourceExhausted when memory is short, or the error of a library; the
  // text names the step or value.
  static absl::StatusOr<std::unique_ptr<Instance>> Create(
      const LoadedPlan& plan, bool initialization,
      absl::Span<const int64_t> symbols, int threads);
  ~Instance();

  // Runs the steps. InputBinding must have accepted `inputs`; `outputs` are
  // checked here. A failed check of a kernel is returned after the last step.
  // Adds the microseconds that each step took to step_microseconds[step],
  // unless that is null. Thread-safe. Allocates nothing once as many calls as
  // now have run at the same time before.
  absl::Status Run(absl::Span<const TensorView> inputs,
                   absl::Span<RegionValue> outputs,
                   double* step_microseconds) const;

  // As Executable::RunPart.
  absl::Status RunPart(absl::Span<const TensorView> inputs,
                       absl::Span<RegionValue> outputs, int steps,
                       absl::Span<const ValueCopy> copies) const;

 private:
  struct Context;
  class Borrowed;

  Instance(const LoadedPlan& plan, bool initialization, int threads);

  absl::Status PrepareLibraryCall(int step);
  absl::Status PrepareKernels();
  std::unique_ptr<Context> NewContext() const;
  std::unique_ptr<Context> TakeContext() const;
  void ReturnContext(std::unique_ptr<Context> context) const;
  // Gets memory for a call in `context`.
  absl::Status Patch(absl::Span<const TensorView> inputs,
                     absl::Span<RegionValue> outputs, Context& context) const;
  // Runs the first `steps`; `step_microseconds` as Run.
  absl::Status RunSteps(int steps, Context& context,
                        double* step_microseconds) const;
  absl::Status RunStep(int step, Context& context) const;
  absl::Status RunRegion(int step, Context& context) const;

  const LoadedPlan& plan_;
  const bool initialization_;
  const int threads_;  // threads of library calls and regions
  const std::vector<LoadedStep>& steps_;
  std::vector<int64_t> symbols_;
  InstanceLayout layout_;
  // The library call of each step; null for other steps.
  std::vector<std::unique_ptr<LibraryCall>> library_;
  // The work units of each step's generated kernel; 0 for other steps.
  std::vector<int64_t> grids_;
  // The end of the sequence of kernels that begins at each step and runs in one
  // parallel region; 0 for steps that begin no such sequence.
  std::vector<int> region_ends_;
  BufferSlots slots_;
  KernelChecks checks_;

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Context>> free_contexts_;
  mutable size_t contexts_ = 0;  // free and in use
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_EXECUTABLE_INSTANCE_H_
