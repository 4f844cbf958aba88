// A child process that generates and measures schedules of one kernel.
//
// Generated code may crash, hang or use up all memory. That ends the child
// only; the caller learns it from the child's exit and goes on with a new one.
#ifndef AITUNE_COMPILER_MEASURE_MEASUREMENTPROCESS_H
#define AITUNE_COMPILER_MEASURE_MEASUREMENTPROCESS_H

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/measure/worker.pb.h"

namespace aitune {

/// Says that `program`, which was started to generate or to measure code, is of
/// another build than this one: the two would misread each other.
absl::Status ofAnotherBuild(const std::string &program);

class MeasurementProcess {
public:
  /// Starts `command`, a program and its arguments, which shares the standard
  /// error of this process. kUnavailable when it can't be started.
  static absl::StatusOr<std::unique_ptr<MeasurementProcess>>
  start(const std::vector<std::string> &command);
  /// Kills the process if it still runs.
  ~MeasurementProcess();

  /// Sends a request and waits for its reply. kDeadlineExceeded after
  /// `seconds`, kAborted (with the signal or exit code) when the process ended;
  /// after both, the process is dead. kInvalidArgument with the text of an
  /// error in the reply.
  absl::StatusOr<WorkerReply> call(const WorkerRequest &request,
                                   double seconds);

private:
  MeasurementProcess(pid_t pid, int input, int output)
      : pid(pid), input(input), output(output) {}
  absl::Status ended();

  pid_t pid;
  int input, output;
};

} // namespace aitune

#endif // AITUNE_COMPILER_MEASURE_MEASUREMENTPROCESS_H
