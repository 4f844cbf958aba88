#include "runtime/control/end_at_exit.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace aitune {

struct EndAtExit::Entry {
  std::function<void()> end;
  const pid_t process = getpid();
  bool has_ended = false;
  std::thread::id caller;  // the thread that `end` runs in
};

namespace {

// Never destroyed: threads may look at it while the process ends.
struct Registry {
  std::mutex mutex;  // the lock of what follows
  std::condition_variable changed;
  std::vector<std::shared_ptr<void>> entries;
  bool has_begun = false;
};

Registry& TheRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

}  // namespace

void EndAtExit::EndAll() {
  Registry& registry = TheRegistry();
  std::unique_lock<std::mutex> lock(registry.mutex);
  registry.has_begun = true;
  while (!registry.entries.empty()) {
    const auto entry =
        std::static_pointer_cast<Entry>(std::move(registry.entries.back()));
    registry.entries.pop_back();
    if (entry->process != getpid()) continue;
    entry->caller = std::this_thread::get_id();
    lock.unlock();
    entry->end();
    lock.lock();
    entry->has_ended = true;
    registry.changed.notify_all();
  }
}

EndAtExit::EndAtExit(std::function<void()> end)
    : entry_(std::make_shared<Entry>()) {
  entry_->end = std::move(end);
  Registry& registry = TheRegistry();
  // A child of fork gets the lock as it is: free.
  [[maybe_unused]] static const int handles_forks = pthread_atfork(
      [] { TheRegistry().mutex.lock(); }, [] { TheRegistry().mutex.unlock(); },
      [] { TheRegistry().mutex.unlock(); });
  WatchMainThread();
  // Each time: before what was made since the last one.
  std::atexit(EndAll);
  const std::lock_guard<std::mutex> lock(registry.mutex);
  registry.entries.push_back(entry_);
}

void EndAtExit::WatchMainThread() {
  struct Watch {
    ~Watch() {
      if (gettid() == getpid()) EndAll();
    }
    bool is_used = true;
  };
  thread_local Watch watch;
  watch.is_used = true;
}

EndAtExit::~EndAtExit() {
  Registry& registry = TheRegistry();
  std::unique_lock<std::mutex> lock(registry.mutex);
  const auto found =
      std::find(registry.entries.begin(), registry.entries.end(), entry_);
  if (found != registry.entries.end()) {
    registry.entries.erase(found);
    return;
  }
  if (entry_->process != getpid()) return;
  registry.changed.wait(lock, [&] {
    return entry_->has_ended || entry_->caller == std::this_thread::get_id();
  });
}

bool EndAtExit::HasBegun() {
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  return registry.has_begun;
}

}  // namespace aitune
