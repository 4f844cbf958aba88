// Timing a command's model against LibTorch, from the same state and with the
// same arguments in each call.
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

namespace aitune::cli {

// Saves the state of the subject's model and of its peer. The result puts it
// back, before a call that is timed or profiled: a cache of fixed length would
// be full after some of them. Null for a model without state. The subject must
// outlive it. Errors: kInternal, LibTorch's own.
absl::StatusOr<std::function<absl::Status()>> SaveState(const Subject& subject);

// Times the compiled model and each of `peers` ("eager", "torchscript") against
// each other. A peer that fails has its error in its row: LibTorch's optimised
// programs can't run some models that eager runs, or are not ready in time
// (peer_warm_up.h). LoadPeer must come before.
absl::StatusOr<std::vector<TimingRow>> TimeSubject(
    const Options& options, const Subject& subject,
    const frontend::CompiledModel& compiled,
    const std::vector<std::string>& peers);

}  // namespace aitune::cli

#endif  // AITUNE_FRONTEND_CLI_TIME_SUBJECT_H_
