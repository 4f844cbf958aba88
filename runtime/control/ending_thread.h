// A thread that ends before the process does (end_at_exit.h says why).
#ifndef AITUNE_RUNTIME_CONTROL_ENDING_THREAD_H_
#define AITUNE_RUNTIME_CONTROL_ENDING_THREAD_H_

#include <sys/types.h>

#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/control/end_at_exit.h"

namespace aitune {

// The last member of its owner: destroyed before what its functions use.
class EndingThread {
 public:
  EndingThread() = default;
  // Waits for a `stop` that exit is in. The owner has called Join before, but
  // for a thread of a parent of this process, which stays with the parent.
  ~EndingThread();
  EndingThread(const EndingThread&) = delete;
  EndingThread& operator=(const EndingThread&) = delete;

  // Starts the thread, which executes `run`; once. `stop`, which exit calls
  // too, makes that return, and ends with Join. Called with the lock with which
  // `stop` begins. False, with nothing started, once exit has begun.
  bool Start(std::function<void()> run, std::function<void()> stop);
  // With the same lock.
  bool has_started() const { return id_ != std::thread::id(); }
  // Waits until the thread, if there is one, has ended; not where it calls this
  // itself. Thread-safe behind a use of the lock.
  void Join();

 private:
  pid_t process_ = 0;  // the process that started the thread
  std::thread::id id_;
  std::mutex joining_;  // the lock of thread_ once it has started
  std::thread thread_;
  std::optional<EndAtExit> at_exit_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CONTROL_ENDING_THREAD_H_
