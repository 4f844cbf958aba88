// A compiled model on the CPU.
//
// The hot path does no allocation and takes no lock that another caller holds
// while it computes: each concurrent call borrows an execution context (arena,
// evaluated sizes, library primitives for one combination of sizes) from a
// free list and returns it. New combinations of sizes make a new instance once.
#ifndef AITUNE_RUNTIME_EXECUTABLE_CPU_EXECUTABLE_H_
#define AITUNE_RUNTIME_EXECUTABLE_CPU_EXECUTABLE_H_

#include <memory>
#include <vector>

#include "runtime/cpu/kernel_library.h"
#include "runtime/executable/executable.h"

namespace aitune {

class CpuExecutable : public Executable {
 public:
  // Checks the plan (indices, kernels found, constants present), applies the
  // constants' packings and runs the initialization steps. Errors name what is
  // missing. `constants` and `regions` are as the plan numbers them.
  static absl::StatusOr<std::unique_ptr<Executable>> Load(
      ExecutablePlan plan, std::shared_ptr<const KernelLibrary> kernels,
      std::vector<ConstantTensor> constants,
      std::vector<std::unique_ptr<FallbackRegion>> regions);
  ~CpuExecutable() override;

  using Executable::Run;
  absl::Status Run(absl::Span<const TensorView> inputs,
                   absl::Span<RegionValue> outputs,
                   void* stream) const override;
  absl::StatusOr<std::vector<StepProfile>> Profile(
      absl::Span<const TensorView> inputs, absl::Span<RegionValue> outputs,
      int repeats) const override;
  int64_t MemoryInBytes() const override;

 private:
  struct Impl;
  explicit CpuExecutable(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_EXECUTABLE_CPU_EXECUTABLE_H_
