// What the compilations of the process count: compileCounts() of Compiler.h
// reads it.
#ifndef AITUNE_COMPILER_DRIVER_COMPILECOUNTERS_H
#define AITUNE_COMPILER_DRIVER_COMPILECOUNTERS_H

#include <atomic>
#include <cstdint>

namespace aitune {

/// The members are those of CompileCounts. Thread-safe.
struct CompileCounters {
  std::atomic<int64_t> graphs{0}, kernels{0}, measurements{0};
};

/// The one of the process.
CompileCounters &compileCounters();

} // namespace aitune

#endif // AITUNE_COMPILER_DRIVER_COMPILECOUNTERS_H
