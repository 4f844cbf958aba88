// The program at the other end of compiler/measure/MeasurementProcess.h, which
// generates, loads and times schedules for a tuner in another process.
#ifndef AITUNE_COMPILER_CANDIDATES_MEASUREMENTWORKER_H
#define AITUNE_COMPILER_CANDIDATES_MEASUREMENTWORKER_H

namespace aitune {

/// Reads requests (compiler/measure/worker.proto) from the file descriptor
/// `input` and writes the replies to `output`, until `input` ends. Returns the
/// process's exit code.
int serveMeasurements(int input, int output);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_MEASUREMENTWORKER_H
