#include "runtime/control/ending_thread.h"

#include <unistd.h>

#include <utility>

namespace aitune {

EndingThread::~EndingThread() {
  at_exit_.reset();
  if (!thread_.joinable()) return;
  if (process_ == getpid())
    thread_.detach();  // It calls this itself, and goes on to its end.
  else
    new std::thread(std::move(thread_));  // It can't be joined here.
}

bool EndingThread::Start(std::function<void()> run,
                         std::function<void()> stop) {
  if (EndAtExit::HasBegun()) return false;
  process_ = getpid();
  thread_ = std::thread(std::move(run));
  id_ = thread_.get_id();
  at_exit_.emplace(std::move(stop));
  return true;
}

void EndingThread::Join() {
  if (id_ == std::this_thread::get_id()) return;
  const std::lock_guard<std::mutex> lock(joining_);
  if (thread_.joinable()) thread_.join();
}

}  // namespace aitune
