// Runs independent pieces of work on several threads.
#ifndef AITUNE_COMPILER_SUPPORT_PARALLEL_H
#define AITUNE_COMPILER_SUPPORT_PARALLEL_H

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

namespace aitune {

/// `asked` threads, or as many as the machine has if it is not positive.
int threadsOrAll(int asked);

/// Calls `work` once for each of 0 ... count - 1, on at most `threads` threads,
/// the calling one included, and returns when all calls have returned: on fewer
/// where the system gives no more. `work` must not throw. Thread-safe.
void inParallel(size_t count, int threads,
                const std::function<void(size_t)> &work);

/// Runs tasks, in order, on threads of its own. Its destructor waits for those
/// that have begun or that a thread is there for. Not thread-safe.
class BackgroundTasks {
public:
  /// On at most `threads` threads.
  explicit BackgroundTasks(int threads) : mostThreads(threads) {}
  ~BackgroundTasks();

  /// Where the system gives no thread, who waits for the task runs it.
  std::shared_future<void> add(std::function<void()> task);

private:
  void runAll();

  const int mostThreads;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_future<void>> waiting;
  bool isOver = false;
  std::vector<std::thread> threads;
};

} // namespace aitune

#endif // AITUNE_COMPILER_SUPPORT_PARALLEL_H
