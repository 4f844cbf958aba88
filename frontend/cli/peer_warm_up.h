// Makes a peer ready to be timed, but not at any price.
//
// LibTorch's optimised programs compile themselves in their first calls. On a
// GPU their fuser took minutes for a densenet121, and nothing stops it from
// outside, while the rest of the report was done.
#ifndef AITUNE_FRONTEND_CLI_PEER_WARM_UP_H_
#define AITUNE_FRONTEND_CLI_PEER_WARM_UP_H_

#include <functional>

#include "absl/status/status.h"

namespace aitune::cli {

// Makes the first calls of a peer on a thread of their own. Errors: the first
// of `run`'s; kDeadlineExceeded after so many seconds, when the thread goes on
// with its copy of `run`, which must own what it uses.
absl::Status WarmUpPeer(const std::function<absl::Status()>& run,
                        double seconds);

// `code`, a program's exit code. If a peer's thread goes on, does not return
// but ends the process with it: without the destructors of what is static,
// which the thread may use. Precondition: what was written is flushed.
int EndProgram(int code);

}  // namespace aitune::cli

#endif  // AITUNE_FRONTEND_CLI_PEER_WARM_UP_H_
