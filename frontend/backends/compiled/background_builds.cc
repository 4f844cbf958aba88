#include "frontend/backends/compiled/background_builds.h"

#include <exception>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/logging/logging.h"

namespace aitune::frontend {

BackgroundBuilds::BackgroundBuilds(std::string model, Build build,
                                   BackgroundCounts& counts)
    : model_(std::move(model)), build_(std::move(build)), counts_(counts) {}

BackgroundBuilds::~BackgroundBuilds() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  counts_.pending = 0;
}

void BackgroundBuilds::Ask(const std::function<Sample()>& copy) {
  ++counts_.calls;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (wanted_.has_value()) return;
    if (!thread_.joinable()) thread_ = std::thread([this] { Work(); });
    wanted_ = copy();
    counts_.pending = 1;
  }
  changed_.notify_all();
}

void BackgroundBuilds::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_stopping_ || wanted_.has_value(); });
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
  }
}

}  // namespace aitune::frontend
