// Special values of the grain of schedules: the fewest work units that a thread
// gets (ait.grain).
#ifndef AITUNE_COMPILER_CODEGEN_CPU_TARGET_GRAIN_H
#define AITUNE_COMPILER_CODEGEN_CPU_TARGET_GRAIN_H

#include <cstdint>

namespace aitune {

/// The grain of a kernel that must run on one thread: more units than any
/// kernel has.
constexpr int64_t kSerialGrain = int64_t{1} << 40;

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_TARGET_GRAIN_H
