// Measures schedules of one kernel in another process, whatever they do to it.
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
  /// `command` starts the measuring process; each request may take
  /// `candidateSeconds` a candidate on top of its own time.
  KernelMeasurer(std::vector<std::string> command, double candidateSeconds)
      : command(std::move(command)), candidateSeconds(candidateSeconds) {}

  /// The kernel that is measured from here on; `space` must live as long.
  absl::Status begin(WorkerKernel kernel, const KernelSpace &space);

  /// Measures `schedules` of the space in turn. One result a schedule, in
  /// order; one that crashed the process, hung or was wrong has a note. An
  /// error: nothing can be measured any more.
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
  /// By schedule: its number in the process, and why it is out.
  std::map<size_t, int> prepared;
  std::map<size_t, std::string> failed;
  int nextNumber = 0;
};

} // namespace aitune

#endif // AITUNE_COMPILER_MEASURE_KERNELMEASURER_H
