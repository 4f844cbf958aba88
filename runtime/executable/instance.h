// A list of steps made ready for one combination of sizes: every size
// evaluated, memory planned, library primitives compiled. Running it is
// patching a few addresses and a loop over calls.
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
  // load (then `symbols` is empty), for `threads` threads. `plan` must outlive
  // the instance. Errors name the step or value.
  static absl::StatusOr<std::unique_ptr<Instance>> Create(
      const LoadedPlan& plan, bool initialization,
      absl::Span<const int64_t> symbols, int threads);
  ~Instance();

  // Runs the steps. `inputs` were checked by InputBinding; `outputs` are
  // checked here; what kernels check of elements is an error at the end. With
  // `step_microseconds`, one element a step, adds what each step took.
  // Thread-safe. Allocates nothing when as many calls ran at once before.
  absl::Status Run(absl::Span<const TensorView> inputs,
                   absl::Span<RegionValue> outputs,
                   double* step_microseconds) const;

 private:
  struct Context;
  class Borrowed;

  Instance(const LoadedPlan& plan, bool initialization);

  absl::Status PrepareLibraryCall(int step, int threads);
  absl::Status PrepareKernels();
  std::unique_ptr<Context> NewContext() const;
  std::unique_ptr<Context> TakeContext() const;
  void ReturnContext(std::unique_ptr<Context> context) const;
  absl::Status RunStep(int step, Context& context) const;
  absl::Status RunRegion(int step, Context& context) const;

  const LoadedPlan& plan_;
  const bool initialization_;
  const std::vector<LoadedStep>& steps_;
  std::vector<int64_t> symbols_;
  InstanceLayout layout_;
  std::vector<std::unique_ptr<LibraryCall>> library_;  // by step; may be null
  std::vector<int64_t> grids_;                         // by step; 0 for others
  // By step: where the sequence of kernels that it begins ends, if the sequence
  // is worth a parallel region; 0 for others.
  std::vector<int> region_ends_;
  BufferSlots slots_;
  KernelChecks checks_;

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Context>> free_contexts_;
  mutable size_t contexts_ = 0;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_EXECUTABLE_INSTANCE_H_
