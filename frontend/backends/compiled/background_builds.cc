#include "frontend/backends/compiled/background_builds.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/logging/logging.h"

namespace aitune::frontend {
namespace {

// How often a call that waits looks whether it must end.
constexpr std::chrono::milliseconds kPoll(5);

}  // namespace

BackgroundBuilds::BackgroundBuilds(std::string model, Build build,
                                   BackgroundCounts& counts)
    : model_(std::move(model)), build_(std::move(build)), counts_(counts) {}

BackgroundBuilds::~BackgroundBuilds() {
  if (is_of_parent()) {
    (void)changed_.release();
    return;
  }
  Stop();
  counts_.pending = 0;
}

void BackgroundBuilds::Stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
  }
  changed_->notify_all();
  thread_.Join();
}

bool BackgroundBuilds::Ask(const std::function<Sample()>& copy) {
  if (is_of_parent()) return false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (wanted_.has_value() || is_stopping_) return false;
    if (!thread_.has_started() &&
        !thread_.Start([this] { Work(); }, [this] { Stop(); }))
      return false;
    wanted_ = copy();
    counts_.pending = 1;
  }
  changed_->notify_all();
  return true;
}

bool BackgroundBuilds::Wait(std::optional<CallLimit::TimePoint> end,
                            const std::function<bool()>& is_ready) {
  const auto is_over = [&] { return !wanted_.has_value() || is_ready(); };
  std::unique_lock<std::mutex> lock(mutex_);
  while (!is_over()) {
    if (!CheckCallLimit().ok()) return false;
    CallLimit::TimePoint next = std::chrono::steady_clock::now() + kPoll;
    if (end.has_value()) {
      if (next - kPoll >= *end) return false;
      next = std::min(next, *end);
    }
    changed_->wait_until(lock, next, is_over);
  }
  return true;
}

void BackgroundBuilds::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_->wait(lock, [&] { return is_stopping_ || wanted_.has_value(); });
    if (is_stopping_) return;
    lock.unlock();
    absl::Status built;
    try {
      built = build_(*wanted_);  // which nobody changes until it is none
    } catch (const std::exception& error) {
      built = absl::InternalError(error.what());
    }
    if (built.ok()) {
      ++counts_.builds;
    } else {
      ++counts_.failures;
      Log(LogChannel::kWarning,
          absl::StrCat(model_, " stays in eager for some inputs: ",
                       std::string(built.message())));
    }
    lock.lock();
    wanted_.reset();
    counts_.pending = 0;
    changed_->notify_all();
  }
}

}  // namespace aitune::frontend
