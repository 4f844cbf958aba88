// Turns failed checks of kernels into errors: indices out of range and
// divisions of integers by 0, for which eager raises an exception.
//
// A step with checks is given memory for one KernelCheck for each of them
// (kernel_abi.h). The memory stays zero from one call to the next unless a
// check fails, so a call without failures only has to read it. Internal to the
// executables, of the CPU and of a GPU.
#ifndef AITUNE_RUNTIME_EXECUTABLE_KERNEL_CHECKS_H_
#define AITUNE_RUNTIME_EXECUTABLE_KERNEL_CHECKS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/cpu/kernel_abi.h"
#include "runtime/executable/loaded_plan.h"

namespace aitune {

class KernelChecks {
 public:
  KernelChecks() = default;
  // The checks of all `steps`, in their order. `plan` must outlive the result.
  KernelChecks(const LoadedPlan& plan, const std::vector<LoadedStep>& steps);

  // The number of KernelCheck elements that a call needs memory for.
  int64_t count() const { return static_cast<int64_t>(checks_.size()); }

  // The first check that failed as kInvalidArgument with the operator, its
  // location, the value and the bound for these symbols; OK if none did or the
  // plan ignores them. Clears all of `found`, which has count() elements.
  // Thread-safe for different `found`; kernels may still write to it.
  absl::Status Take(absl::Span<KernelCheck> found,
                    absl::Span<const int64_t> symbols) const;

 private:
  std::vector<const CheckProto*> checks_;
  bool ignored_ = false;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_EXECUTABLE_KERNEL_CHECKS_H_
