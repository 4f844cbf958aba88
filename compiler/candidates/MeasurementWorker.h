// The other end of compiler/measure/MeasurementProcess.h: the program that
// generates, loads and times schedules for a tuner in another process.
#ifndef AITUNE_COMPILER_CANDIDATES_MEASUREMENTWORKER_H
#define AITUNE_COMPILER_CANDIDATES_MEASUREMENTWORKER_H

namespace aitune {

/// Answers requests (compiler/measure/worker.proto) read from `input` on
/// `output` until `input` ends. Returns the process's exit code.
int serveMeasurements(int input, int output);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_MEASUREMENTWORKER_H
