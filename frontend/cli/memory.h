// The memory that this process uses, as the kernel counts it.
#ifndef AITUNE_FRONTEND_CLI_MEMORY_H_
#define AITUNE_FRONTEND_CLI_MEMORY_H_

#include <cstdint>

namespace aitune::cli {

// The resident bytes of the process; 0 if /proc cannot be read.
int64_t ResidentBytes();

// The largest ResidentBytes since the last ResetPeakBytes, or since the start
// of the process.
int64_t PeakBytes();

// Starts a new peak. Has no effect if the kernel refuses it; PeakBytes is then
// that of the whole process.
void ResetPeakBytes();

}  // namespace aitune::cli

#endif  // AITUNE_FRONTEND_CLI_MEMORY_H_
