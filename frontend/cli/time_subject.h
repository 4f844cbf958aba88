// Timing a command's model against LibTorch, from the same state and with the
// same arguments in each call, whatever the calls write to them.
#ifndef AITUNE_FRONTEND_CLI_TIME_SUBJECT_H_
#define AITUNE_FRONTEND_CLI_TIME_SUBJECT_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/cli/commands.h"
#include "frontend/cli/options.h"
#include "frontend/cli/report.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/values/value_list.h"

namespace aitune::cli {

// The arguments of a call that is timed, on the subject's device.
struct TimedCall {
  frontend::ValueList arguments;
  // Their sizes where they are others than those of TypicalCall; empty: the
  // same.
  std::string sizes;
};

// TypicalCall. Where eager refuses the ends of the ranges, the largest sizes
// that it accepts (FindAcceptedSizes), if any are found; on a GPU only after
// LoadPeer. Errors as TypicalCall; kInternal, LibTorch's own.
absl::StatusOr<TimedCall> ChooseTimedCall(const Options& options,
                                          const Subject& subject);

// Saves the state of the subject's model and of its peer, and what calls write
// of `arguments`. The result puts these back, before a call that is timed or
// profiled: a cache of fixed length would be full after some of them. Null
// where calls change nothing. The subject must outlive it. Errors: kInternal,
// LibTorch's own.
absl::StatusOr<std::function<absl::Status()>> SaveState(
    const Subject& subject, const frontend::ValueList& arguments);

// Times calls of the compiled model and of each of `peers` ("eager",
// "torchscript") with `arguments` against each other. What the calls write is
// put back, also at the end. A peer that fails has its error in its row:
// LibTorch's optimised programs can't run some models that eager runs, or are
// not ready in time (peer_warm_up.h). LoadPeer must come before.
absl::StatusOr<std::vector<TimingRow>> TimeSubject(
    const Options& options, const Subject& subject,
    const frontend::CompiledModel& compiled,
    const frontend::ValueList& arguments,
    const std::vector<std::string>& peers);

}  // namespace aitune::cli

#endif  // AITUNE_FRONTEND_CLI_TIME_SUBJECT_H_
