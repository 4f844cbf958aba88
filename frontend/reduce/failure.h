// The failure that a run of `aitune tune` shows, and whether two are the same.
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
    kNone,   // no failure
    kWrong,  // the compiled model's outputs differ from eager's
    kCrash,  // the process was ended by a signal
    kHang,   // the process took too long
    kError,  // the model could not be compiled
    kSlow,   // the compiled model is slower than eager by a factor
  };
  Kind kind = Kind::kNone;
  std::string text;  // one line for people
  // Two failures of one kind are the same if this is equal. kWrong: the first
  // case that differs; kCrash: the signal; kError: the message without numbers.
  std::string signature;
  // kSlow: by how much a call takes longer than in eager.
  double lost_milliseconds = 0;
};

// "wrong", "crash", "hang", "error", "slow"; "none".
std::string Name(Failure::Kind kind);
// The kind with this name; not set for another name.
std::optional<Failure::Kind> KindNamed(absl::string_view name);

// The failure that a run of `aitune tune --json` showed. `outcome` is its end,
// `limit` the seconds that it was given, `json` its report (empty: it wrote
// none). With `factor`, a model that takes more than `factor` times eager's
// time is slow. kInvalidArgument, with the program's message, when the program
// refused its command line.
absl::StatusOr<Failure> FailureShown(const ChildOutcome& outcome,
                                     const std::string& json, double limit,
                                     std::optional<double> factor);

// Whether `candidate` is the same failure as `whole`, that of the whole
// program. A slow candidate must lose at least a tenth of the time that the
// whole program loses, because very small programs are always slow.
bool SameFailure(const Failure& whole, const Failure& candidate);

}  // namespace aitune::reduce

#endif  // AITUNE_FRONTEND_REDUCE_FAILURE_H_
