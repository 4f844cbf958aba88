// What the process uses of the machine's memory, as the kernel counts it.
#ifndef AITUNE_FRONTEND_CLI_MEMORY_H_
#define AITUNE_FRONTEND_CLI_MEMORY_H_

#include <cstdint>

namespace aitune::cli {

// Bytes now in memory; 0 where /proc does not tell.
int64_t ResidentBytes();

// The largest ResidentBytes since the last ResetPeakBytes (or the start).
int64_t PeakBytes();

// Starts a new peak. Without effect where the kernel refuses; the peak is then
// that of the process.
void ResetPeakBytes();

}  // namespace aitune::cli

#endif  // AITUNE_FRONTEND_CLI_MEMORY_H_
