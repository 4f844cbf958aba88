// Builds versions of a model in a thread of its own, while LibTorch runs the
// calls that they are for.
#ifndef AITUNE_FRONTEND_BACKENDS_COMPILED_BACKGROUND_BUILDS_H_
#define AITUNE_FRONTEND_BACKENDS_COMPILED_BACKGROUND_BUILDS_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "runtime/backend/source_model.h"
#include "runtime/control/call_limit.h"

namespace aitune::frontend {

// What was built in the background; `calls` is counted by whoever has LibTorch
// run them. Thread-safe.
struct BackgroundCounts {
  std::atomic<int64_t> builds{0};    // that succeeded
  std::atomic<int64_t> failures{0};  // that did not
  std::atomic<int64_t> pending{0};   // asked for or under way: 0 or 1
  std::atomic<int64_t> calls{0};     // that LibTorch ran meanwhile
};

// Thread-safe. The thread starts with the first build.
class BackgroundBuilds {
 public:
  // Makes a version for a call with these inputs.
  using Build = std::function<absl::Status(const Sample& inputs)>;

  // `model` is the model's name in messages. `build` is called by the thread.
  // `counts` must outlive this.
  BackgroundBuilds(std::string model, Build build, BackgroundCounts& counts);
  // Waits for the build under way.
  ~BackgroundBuilds();
  BackgroundBuilds(const BackgroundBuilds&) = delete;
  BackgroundBuilds& operator=(const BackgroundBuilds&) = delete;

  // Has a version built for a call that LibTorch runs. While another one is
  // built, nothing: a later call with such inputs asks again. `copy` gives the
  // call's inputs in memory of their own. A failure is logged. Whether it will
  // be built.
  bool Ask(const std::function<Sample()>& copy);

  // Waits until nothing is asked for or under way, or, if it is sooner, until
  // `end` or until this thread's call must end (CheckCallLimit, asked each 5
  // ms). Whether nothing is.
  bool Wait(std::optional<CallLimit::TimePoint> end);

 private:
  void Work();

  const std::string model_;
  const Build build_;
  BackgroundCounts& counts_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Sample> wanted_;  // until its build has ended
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_COMPILED_BACKGROUND_BUILDS_H_
