#include "compiler/support/Parallel.h"

#include <atomic>
#include <system_error>
#include <utility>

namespace aitune {
namespace {

/// Whether the system gives a further thread, which runs `work`.
template <typename Work>
bool addThread(std::vector<std::thread> &threads, const Work &work) {
  try {
    threads.emplace_back(work);
    return true;
  } catch (const std::system_error &) {
    return false;
  }
}

} // namespace

int threadsOrAll(int asked) {
  return asked > 0 ? asked
                   : static_cast<int>(std::thread::hardware_concurrency());
}

void inParallel(size_t count, int threads,
                const std::function<void(size_t)> &work) {
  std::atomic<size_t> next{0};
  auto run = [&] {
    for (size_t i = next++; i < count; i = next++)
      work(i);
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < threads && static_cast<size_t>(i) < count; ++i)
    if (!addThread(helpers, run))
      break;
  run();
  for (std::thread &helper : helpers)
    helper.join();
}

BackgroundTasks::~BackgroundTasks() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isOver = true;
  }
  changed.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

std::shared_future<void> BackgroundTasks::add(std::function<void()> task) {
  auto future = std::async(std::launch::deferred, std::move(task)).share();
  {
    std::lock_guard<std::mutex> lock(mutex);
    waiting.push_back(future);
  }
  changed.notify_one();
  if (threads.size() < static_cast<size_t>(mostThreads))
    addThread(threads, [this] { runAll(); });
  return future;
}

void BackgroundTasks::runAll() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return isOver || !waiting.empty(); });
    if (waiting.empty())
      return;
    const std::shared_future<void> task = std::move(waiting.front());
    waiting.pop_front();
    lock.unlock();
    task.wait();
    lock.lock();
  }
}

} // namespace aitune
