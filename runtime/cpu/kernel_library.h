// Generated kernels by name. It is an interface because the runtime does not
// know whether the code came from the compiler in this process or from a cache.
#ifndef AITUNE_RUNTIME_CPU_KERNEL_LIBRARY_H_
#define AITUNE_RUNTIME_CPU_KERNEL_LIBRARY_H_

#include "absl/strings/string_view.h"
#include "runtime/cpu/kernel_abi.h"

namespace aitune {

// Owns the code of generated kernels and finds them by name. Thread-safe.
class KernelLibrary {
 public:
  virtual ~KernelLibrary() = default;
  // The kernel's entry, valid while this object lives; null when there is no
  // kernel of this name.
  virtual KernelFunction Find(absl::string_view symbol) const = 0;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_KERNEL_LIBRARY_H_
