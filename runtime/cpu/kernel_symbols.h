// The names of generated kernels, for debuggers and profilers: gdb shows them
// in the backtrace of a process or of its core file (the JIT interface of gdb's
// manual), so that a crash in a kernel says which one it is. With
// AITUNE_PERF_MAP=1 in the environment they are also written to
// /tmp/perf-PID.map, where perf finds them. Internal to this folder.
#ifndef AITUNE_RUNTIME_CPU_KERNEL_SYMBOLS_H_
#define AITUNE_RUNTIME_CPU_KERNEL_SYMBOLS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cpu/elf_object.h"

namespace aitune {

// An object file that lies in memory, known to debuggers until it is destroyed.
// Creating and destroying are thread-safe.
class KernelSymbols {
 public:
  // `object` was read from `file`. `addresses` has for each of its sections
  // where it lies; 0: it is not loaded. Neither is kept.
  KernelSymbols(std::string_view file, const ElfObject& object,
                const std::vector<uint64_t>& addresses);
  ~KernelSymbols();
  KernelSymbols(const KernelSymbols&) = delete;
  KernelSymbols& operator=(const KernelSymbols&) = delete;

 private:
  struct Entry;  // gdb's record of the file
  const std::unique_ptr<Entry> entry_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_KERNEL_SYMBOLS_H_
