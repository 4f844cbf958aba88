// Generated object code in the process: LLVM's ORC links the object into memory
// behind the runtime's KernelLibrary interface, so that the executable plan
// knows nothing of LLVM. No LLVM header here, for the same reason.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_KERNELLOADER_H
#define AITUNE_COMPILER_CODEGEN_CPU_KERNELLOADER_H

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/executable/kernel_library.h"

namespace aitune {

/// Links ELF objects (EmitObject.h's, or read back from a cache) into memory.
/// Undefined symbols are looked up in the process (libm, libc). Every object is
/// read during the call only. The library owns the code: entries are valid
/// while it lives. Errors: kInvalidArgument for bytes that are not an object
/// for this machine or that define a symbol twice, kInternal when linking fails
/// (the text names the symbols that are missing). Thread-safe; Find is
/// lock-free.
absl::StatusOr<std::shared_ptr<const KernelLibrary>>
loadKernels(const std::vector<std::string> &objects);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_KERNELLOADER_H
