// When a call must end early: at a deadline, or when another thread cancels it.
//
//   aitune::CallLimit limit(std::chrono::steady_clock::now() + 50ms);
//   const aitune::ScopedCallLimit scope(&limit);
//   module->Run(arguments);  // kDeadlineExceeded after about 50 ms
//
// The runtime asks between the steps of a model, so a call ends after the step
// that is under way. What LibTorch runs as one piece (a model in eager, what it
// runs of a compiled model) and what was queued on a GPU goes on to its end. A
// compilation that a call began does so in a thread of its own, for later
// calls; the call ends.
#ifndef AITUNE_RUNTIME_CONTROL_CALL_LIMIT_H_
#define AITUNE_RUNTIME_CONTROL_CALL_LIMIT_H_

#include <atomic>
#include <chrono>
#include <optional>

#include "absl/status/status.h"

namespace aitune {

// Thread-safe.
class CallLimit {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Without a deadline if it is not set.
  explicit CallLimit(std::optional<TimePoint> deadline = std::nullopt)
      : deadline_(deadline) {}
  CallLimit(const CallLimit&) = delete;
  CallLimit& operator=(const CallLimit&) = delete;

  // Ends calls with this limit, now and later.
  void Cancel() { is_cancelled_ = true; }
  const std::optional<TimePoint>& deadline() const { return deadline_; }

  // kCancelled after Cancel, kDeadlineExceeded after the deadline.
  absl::Status Check() const;

 private:
  const std::optional<TimePoint> deadline_;
  std::atomic<bool> is_cancelled_ = false;
};

// The limit of this thread's calls until the end of the scope; null: none.
// Scopes nest; the inner one's limit holds.
class ScopedCallLimit {
 public:
  explicit ScopedCallLimit(const CallLimit* limit);
  ~ScopedCallLimit();
  ScopedCallLimit(const ScopedCallLimit&) = delete;
  ScopedCallLimit& operator=(const ScopedCallLimit&) = delete;

 private:
  const CallLimit* const previous_;
};

// The limit of this thread's calls; null: none.
const CallLimit* CurrentCallLimit();

// Check of that limit; OK if there is none.
absl::Status CheckCallLimit();

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CONTROL_CALL_LIMIT_H_
