#include "runtime/control/call_limit.h"

#include <utility>

namespace aitune {
namespace {

thread_local const CallLimit* current = nullptr;

}  // namespace

absl::Status CallLimit::Check() const {
  if (is_cancelled_) return absl::CancelledError("the call was cancelled");
  if (deadline_ && std::chrono::steady_clock::now() >= *deadline_)
    return absl::DeadlineExceededError(
        "the call's deadline has passed; give it more time, or make fewer "
        "calls at once");
  return absl::OkStatus();
}

ScopedCallLimit::ScopedCallLimit(const CallLimit* limit)
    : previous_(std::exchange(current, limit)) {}

ScopedCallLimit::~ScopedCallLimit() { current = previous_; }

const CallLimit* CurrentCallLimit() { return current; }

absl::Status CheckCallLimit() {
  return current == nullptr ? absl::OkStatus() : current->Check();
}

}  // namespace aitune
