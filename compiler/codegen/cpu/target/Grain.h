// The fewest work units that a thread takes (ait.grain) as a parameter of
// schedules.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_TARGET_GRAIN_H
#define AITUNE_COMPILER_CODEGEN_CPU_TARGET_GRAIN_H

#include <cstdint>

namespace aitune {

/// The grain of a kernel that is not to be shared among threads.
constexpr int64_t kSerialGrain = int64_t{1} << 40;

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_TARGET_GRAIN_H
