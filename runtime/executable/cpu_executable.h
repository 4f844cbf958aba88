// A compiled model on the CPU.
//
// From the second call with the same sizes on, a call allocates nothing and
// takes no lock that another call holds while it computes: it borrows memory (a
// context and an arena) from free lists and returns it. An instance holds what
// depends on the sizes alone (evaluated sizes, library primitives). It is made
// at the first call with these sizes and this number of threads; 64 are kept.
#ifndef AITUNE_RUNTIME_EXECUTABLE_CPU_EXECUTABLE_H_
#define AITUNE_RUNTIME_EXECUTABLE_CPU_EXECUTABLE_H_

#include <memory>
#include <vector>

#include "runtime/cpu/kernel_library.h"
#include "runtime/executable/executable.h"

namespace aitune {

class CpuExecutable : public Executable {
 public:
  // Checks the plan (ValidatePlan; all kernels, constants and regions present),
  // packs constants and runs the initialization steps. `constants` and
  // `regions` are in the order of the plan's indices. Errors: kInvalidArgument
  // names the part of the plan, constant or region that does not fit; kNotFound
  // names a kernel that `kernels` lacks; kResourceExhausted when memory is
  // short.
  static absl::StatusOr<std::unique_ptr<CpuExecutable>> Load(
      ExecutablePlan plan, std::shared_ptr<const KernelLibrary> kernels,
      std::vector<ConstantTensor> constants,
      std::vector<std::unique_ptr<FallbackRegion>> regions);
  ~CpuExecutable() override;

  bool GivesOutput(int output) const override;
  using Executable::Run;
  absl::Status Run(absl::Span<const TensorView> inputs,
                   absl::Span<RegionValue> outputs,
                   void* stream) const override;
  absl::Status RunPart(absl::Span<const TensorView> inputs,
                       absl::Span<RegionValue> outputs, int steps,
                       absl::Span<const ValueCopy> copies,
                       void* stream) const override;
  using Executable::Profile;
  absl::StatusOr<std::vector<StepProfile>> Profile(
      absl::Span<const TensorView> inputs, absl::Span<RegionValue> outputs,
      int repeats, void* stream) const override;
  MemoryUse Memory() const override;
  void FreeKeptMemory() const override;
  void SetAllocator(
      std::shared_ptr<const HostAllocator> allocator) const override;
  ResultPool* result_pool() const override;
  // Overwrites what calls left in memory that later ones use again, and must
  // not read before they write it: to find kernels that do. Not while a call is
  // in progress.
  void PoisonMemory() const;

 private:
  struct Impl;
  explicit CpuExecutable(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_EXECUTABLE_CPU_EXECUTABLE_H_
