// Measures schedules of one kernel in another process, which they may crash.
#ifndef AITUNE_COMPILER_MEASURE_KERNELMEASURER_H
#define AITUNE_COMPILER_MEASURE_KERNELMEASURER_H

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/measure/Measure.h"
#include "compiler/measure/MeasurementProcess.h"
#include "compiler/schedule/Schedule.h"

namespace aitune {

/// Not thread-safe. One process serves many kernels, one after the other.
class KernelMeasurer {
public:
  /// `command` starts the measuring process. Each request may take
  /// `candidateSeconds` for each schedule in addition to the time of the
  /// measurement itself.
  KernelMeasurer(std::vector<std::string> command, double candidateSeconds)
      : command(std::move(command)), candidateSeconds(candidateSeconds) {}

  /// Sets the kernel to measure. `space` must outlive its measurements.
  /// kFailedPrecondition, as ofAnotherBuild says it, if the process does not
  /// answer with the kernel's `build`.
  absl::Status begin(WorkerKernel kernel, const KernelSpace &space);

  /// Measures `schedules` of the space in turn for about `seconds`. Returns one
  /// result for each, in order; that of a schedule that crashed the process,
  /// hung, was wrong or came back with a time that is none has a note. After an
  /// error nothing can be measured any more.
  absl::StatusOr<std::vector<Measurement>>
  measure(absl::Span<const size_t> schedules, double seconds);

private:
  absl::Status restart();
  absl::Status prepare(const std::vector<size_t> &schedules);
  absl::Status prepareMissing(absl::Span<const size_t> schedules);
  absl::Status prepareEach(const std::vector<size_t> &schedules);

  const std::vector<std::string> command;
  const double candidateSeconds;
  std::unique_ptr<MeasurementProcess> process;
  WorkerKernel kernel;
  const KernelSpace *space = nullptr;
  std::map<size_t, int> prepared; ///< each schedule's number in the process
  std::map<size_t, std::string> failed; ///< why a schedule cannot be used
  int nextNumber = 0;                   ///< number of the next schedule
};

} // namespace aitune

#endif // AITUNE_COMPILER_MEASURE_KERNELMEASURER_H
