// A lock that many readers (calls of a backend) or one writer (a change of its
// state) hold, in which no writer waits for ever.
//
// std::shared_mutex may let new readers pass a waiting writer: a service that
// always has a call under way could then never be deactivated. Here readers and
// writers first lock a second mutex, the turnstile. A writer keeps it while it
// waits for the readers inside and until it unlocks.
#ifndef AITUNE_RUNTIME_BACKEND_STATE_LOCK_H_
#define AITUNE_RUNTIME_BACKEND_STATE_LOCK_H_

#include <mutex>
#include <shared_mutex>

namespace aitune {

// Has the functions that std::unique_lock and std::shared_lock call. A thread
// that holds the lock must not lock it again.
class StateLock {
 public:
  void lock() {
    turnstile_.lock();
    inside_.lock();
  }
  void unlock() {
    inside_.unlock();
    turnstile_.unlock();
  }
  void lock_shared() {
    std::lock_guard<std::mutex> pass(turnstile_);
    inside_.lock_shared();
  }
  void unlock_shared() { inside_.unlock_shared(); }

 private:
  std::mutex turnstile_;
  std::shared_mutex inside_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BACKEND_STATE_LOCK_H_
