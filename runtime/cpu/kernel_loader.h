// Generated object code in the process: a linker for what the code generators
// emit and nothing more.
//
// A process that only runs compiled models needs no LLVM: the objects are
// small relocatable ELF files of position independent code that call at most
// libm, so that placing their sections, filling in a handful of kinds of
// relocations and making stubs for libm is all there is to do. The bytes may
// come from a file that was damaged: every offset and size in them is checked,
// and what this linker does not know is refused by name. That keeps loading
// safe, not running: the code does what it does, with the rights of the
// process, so that objects must come from where programs come from
// (SECURITY.md).
#ifndef AITUNE_RUNTIME_CPU_KERNEL_LOADER_H_
#define AITUNE_RUNTIME_CPU_KERNEL_LOADER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/cpu/kernel_library.h"

namespace aitune {

// Links ELF objects into memory, read-only and executable where they are code.
// Undefined symbols must be among those of kernel_imports.h. Every object is
// read during the call only. The library owns the code: entries are valid while
// it lives. Errors: kInvalidArgument for bytes that are not an object for this
// machine, that contradict themselves or that define a symbol twice;
// kUnimplemented for a kind of section, symbol or relocation that generated
// code never has; kInternal for symbols that are missing or not allowed (the
// text names them); kResourceExhausted when there is no memory. Thread-safe;
// Find is lock-free. `model` is the name of the model that the kernels are of,
// for what AITUNE_NAME_CRASHES (runtime/README.md) tells; empty: not known.
absl::StatusOr<std::shared_ptr<const KernelLibrary>> LoadKernels(
    const std::vector<std::string>& objects, std::string_view model = {});

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_KERNEL_LOADER_H_
