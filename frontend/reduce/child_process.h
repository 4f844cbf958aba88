// A command run in a process of its own, for a limited time: what it does to
// itself (crash, hang) does not concern the caller.
#ifndef AITUNE_FRONTEND_REDUCE_CHILD_PROCESS_H_
#define AITUNE_FRONTEND_REDUCE_CHILD_PROCESS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace aitune::reduce {

struct ChildOutcome {
  enum class End {
    kExited,
    kSignaled,  // it crashed, or someone else ended it
    kTimedOut,  // ended by us, as the time was over
    kStopped,   // ended by us, as the caller wished
  };
  End end = End::kExited;
  int exit_code = 0;   // of kExited
  int signal = 0;      // of kSignaled
  std::string errors;  // what it wrote to stderr
};

// Runs `command`, a path and its arguments, without stdin and with stdout
// thrown away, until it ends, `seconds` have passed or `stop` is true (empty:
// never). `errors_file` is written meanwhile. The process and those of its
// group are ended with the caller's thread at the latest, and leave no core
// dumps. kUnavailable when no process can be started.
absl::StatusOr<ChildOutcome> RunChild(const std::vector<std::string>& command,
                                      const std::string& errors_file,
                                      double seconds,
                                      const std::function<bool()>& stop);

}  // namespace aitune::reduce

#endif  // AITUNE_FRONTEND_REDUCE_CHILD_PROCESS_H_
