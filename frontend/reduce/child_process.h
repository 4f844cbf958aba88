// Runs a command in a process of its own for a limited time, so that its crash
// or hang does not affect the caller.
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
    kSignaled,  // it crashed, or another process ended it
    kTimedOut,  // RunChild ended it, because `seconds` had passed
    kStopped,   // RunChild ended it, because `stop` returned true
  };
  End end = End::kExited;
  int exit_code = 0;   // of kExited
  int signal = 0;      // of kSignaled
  std::string errors;  // the text that it wrote to stderr
};

// Runs `command`, a path and its arguments, until it ends, `seconds` have
// passed or `stop` returns true (null: never). It gets no stdin; its stdout is
// discarded; its stderr goes to the file `errors_file`. The process and its
// process group are ended at the latest when the calling thread ends, and leave
// no core dumps. kUnavailable when no process can be started.
absl::StatusOr<ChildOutcome> RunChild(const std::vector<std::string>& command,
                                      const std::string& errors_file,
                                      double seconds,
                                      const std::function<bool()>& stop);

}  // namespace aitune::reduce

#endif  // AITUNE_FRONTEND_REDUCE_CHILD_PROCESS_H_
