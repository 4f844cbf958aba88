// What a run of `aitune tune` shows of a failure, and whether two are the same.
#ifndef AITUNE_FRONTEND_REDUCE_FAILURE_H_
#define AITUNE_FRONTEND_REDUCE_FAILURE_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/reduce/child_process.h"

namespace aitune::reduce {

struct Failure {
  enum class Kind {
    kNone,
    kWrong,  // compiled, but outputs differ from eager
    kCrash,  // ended by a signal
    kHang,   // not done in time
    kError,  // an error in place of a compiled model
    kSlow,   // slower than eager by the factor
  };
  Kind kind = Kind::kNone;
  std::string text;  // one line for people
  // What another failure of the kind must have too: of kWrong the first case
  // that differs, of kCrash the signal, of kError the message without numbers.
  std::string signature;
  double lost_milliseconds = 0;  // of kSlow: a call's, to eager
};

// "wrong", "crash", "hang", "error", "slow"; "none".
std::string Name(Failure::Kind kind);
// The inverse.
std::optional<Failure::Kind> KindNamed(absl::string_view name);

// What `outcome` of `aitune tune --json` shows, which took `limit` seconds at
// most; `json` is the report, empty if there is none. With a `factor` a model
// that takes more than that of eager's time is slow. kInvalidArgument with the
// program's message for a command line that it refused.
absl::StatusOr<Failure> FailureShown(const ChildOutcome& outcome,
                                     const std::string& json, double limit,
                                     std::optional<double> factor);

// Whether `candidate` is the failure of the whole program. A slow one must lose
// a tenth of the time that the whole loses: something small is slow everywhere.
bool SameFailure(const Failure& whole, const Failure& candidate);

}  // namespace aitune::reduce

#endif  // AITUNE_FRONTEND_REDUCE_FAILURE_H_
