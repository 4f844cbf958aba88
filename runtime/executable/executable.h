// A compiled model, ready to run: the plan, its kernels, its constants and its
// fallback regions.
//
// The hot path does no allocation and takes no lock that another caller holds
// while it computes: each concurrent call borrows an execution context (arena,
// evaluated sizes, library primitives for one combination of sizes) from a
// free list and returns it. New combinations of sizes make a new instance once.
#ifndef AITUNE_RUNTIME_EXECUTABLE_EXECUTABLE_H_
#define AITUNE_RUNTIME_EXECUTABLE_EXECUTABLE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/cpu/kernel_library.h"
#include "runtime/executable/fallback_region.h"
#include "runtime/plan/plan.pb.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune {

// What one step of a plan took, for `inspect`.
struct StepProfile {
  std::string name;
  double microseconds = 0;  // median over the profiled runs
};

class Executable {
 public:
  // Checks the plan (indices, kernels found, constants present), applies the
  // constants' packings and runs the initialization steps. Errors name what is
  // missing. `constants` and `regions` are as the plan numbers them.
  static absl::StatusOr<std::unique_ptr<Executable>> Load(
      ExecutablePlan plan, std::shared_ptr<const KernelLibrary> kernels,
      std::vector<ConstantTensor> constants,
      std::vector<std::unique_ptr<FallbackRegion>> regions);
  ~Executable();

  // The sizes each output has for inputs of these sizes; empty for outputs
  // that are opaque. kInvalidArgument when the inputs do not fit the plan
  // (count, dtype, rank, fixed size, range of a dynamic axis): the text names
  // the input, what was expected and what was given.
  absl::StatusOr<std::vector<std::vector<int64_t>>> OutputSizes(
      absl::Span<const TensorView> inputs) const;

  // Runs the model. `inputs` are read in place and must stay until the call
  // returns. outputs[i] holds a TensorView to be filled (sizes from
  // OutputSizes, memory of the caller) or an empty OpaqueValue where the plan's
  // output is opaque; outputs overlap neither each other nor the inputs, and
  // hold anything after an error. Errors as OutputSizes, kResourceExhausted
  // when memory is short, a fallback region's, or kInvalidArgument for an index
  // out of range or an integer divided by 0: the text names the operator, where
  // it is and the bound.
  // Thread-safe; concurrent calls run concurrently.
  absl::Status Run(absl::Span<const TensorView> inputs,
                   absl::Span<RegionValue> outputs) const;

  // Runs `repeats` times and reports the median time of each step.
  absl::StatusOr<std::vector<StepProfile>> Profile(
      absl::Span<const TensorView> inputs, absl::Span<RegionValue> outputs,
      int repeats) const;

  const ExecutablePlan& plan() const;

  // Bytes of arenas, packed constants and library scratch now held; excludes
  // the constants that Load was given.
  int64_t MemoryInBytes() const;

 private:
  struct Impl;
  explicit Executable(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_EXECUTABLE_EXECUTABLE_H_
