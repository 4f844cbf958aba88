// Many calls or one change, and no change waits for ever.
//
// std::shared_mutex may let new readers pass a waiting writer: a service that
// always has a call under way could then never be deactivated. Here everyone
// passes a turnstile first, and a writer keeps it while it waits for the
// readers inside and until it is done.
#ifndef AITUNE_RUNTIME_BACKEND_STATE_LOCK_H_
#define AITUNE_RUNTIME_BACKEND_STATE_LOCK_H_

#include <mutex>
#include <shared_mutex>

namespace aitune {

// For std::unique_lock and std::shared_lock. A thread that holds it must not
// lock it again.
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
