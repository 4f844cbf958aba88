// Generated kernels by name. An interface: the runtime does not know whether
// the code came from the compiler in this process or from a cache.
#ifndef AITUNE_RUNTIME_CPU_KERNEL_LIBRARY_H_
#define AITUNE_RUNTIME_CPU_KERNEL_LIBRARY_H_

#include "absl/strings/string_view.h"
#include "runtime/cpu/kernel_abi.h"

namespace aitune {

// Finds a generated kernel's entry by name. Owns the code.
class KernelLibrary {
 public:
  virtual ~KernelLibrary() = default;
  // Null when there is no such kernel.
  virtual KernelFunction Find(absl::string_view symbol) const = 0;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_KERNEL_LIBRARY_H_
