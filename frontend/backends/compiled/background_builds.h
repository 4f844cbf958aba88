// Builds versions of a model in a thread of its own, while LibTorch runs the
// calls that they are for.
#ifndef AITUNE_FRONTEND_BACKENDS_COMPILED_BACKGROUND_BUILDS_H_
#define AITUNE_FRONTEND_BACKENDS_COMPILED_BACKGROUND_BUILDS_H_

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "runtime/backend/source_model.h"
#include "runtime/control/call_limit.h"
#include "runtime/control/ending_thread.h"

namespace aitune::frontend {

// What was built in the background; `calls` is counted by whoever has LibTorch
// run them. Thread-safe.
struct BackgroundCounts {
  std::atomic<int64_t> builds{0};    // that succeeded
  std::atomic<int64_t> failures{0};  // that did not
  std::atomic<int64_t> pending{0};   // asked for or under way: 0 or 1
  std::atomic<int64_t> calls{0};     // that LibTorch ran meanwhile
};

// Thread-safe. The thread starts with the first build. When the process exits,
// the build under way is waited for and no other one begins.
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

  // Waits until nothing is asked for or under way, or `is_ready` says so, or,
  // if it is sooner, until `end` or until this thread's call must end
  // (CheckCallLimit). The last three are looked at each 5 ms. False at `end`
  // and where the call must end.
  bool Wait(
      std::optional<CallLimit::TimePoint> end,
      const std::function<bool()>& is_ready = [] { return false; });

  // Whether this process is a child of the one that made it: nothing is built
  // here.
  bool is_of_parent() const { return process_ != getpid(); }

 private:
  void Work();
  // Waits for the build under way; none is made afterwards.
  void Stop();

  const pid_t process_ = getpid();
  const std::string model_;
  const Build build_;
  BackgroundCounts& counts_;
  std::mutex mutex_;
  // On its own, as one for which a thread of a parent waits can't be destroyed.
  std::unique_ptr<std::condition_variable> changed_ =
      std::make_unique<std::condition_variable>();
  std::optional<Sample> wanted_;  // until its build has ended
  bool is_stopping_ = false;
  EndingThread thread_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_COMPILED_BACKGROUND_BUILDS_H_
