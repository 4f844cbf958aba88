// Ends what threads of ours do before the process does.
//
// exit() destroys static objects, of the program and of libraries such as
// OpenSSL and MLIR, while other threads go on: one that uses them then dies by
// a signal, and the process with it, or waits for ever. What ends such threads
// must run before all of these are destroyed, also those that the threads
// themselves have made: exit() destroys the thread_local objects of its caller
// first, one of which, in the main thread, does it. Where another thread calls
// exit, a handler does it, which comes before what was made before the threads
// started. A main thread that ends by pthread_exit counts as exit(). A process
// that ends by _exit or by a signal destroys nothing.
#ifndef AITUNE_RUNTIME_CONTROL_END_AT_EXIT_H_
#define AITUNE_RUNTIME_CONTROL_END_AT_EXIT_H_

#include <functional>
#include <memory>

namespace aitune {

// Registers for exit() in this process (not in its children) until its end.
class EndAtExit {
 public:
  // `end` is called once, by the thread that calls exit(), and must return when
  // the thread's work has ended. It must not wait for the thread that it runs
  // in, which may be that one.
  explicit EndAtExit(std::function<void()> end);
  // Waits for an `end` that another thread is in.
  ~EndAtExit();
  EndAtExit(const EndAtExit&) = delete;
  EndAtExit& operator=(const EndAtExit&) = delete;

  // Has the calling thread, if it is the main one, end all at its end. To be
  // called where a program begins to use what makes threads. Thread-safe.
  static void WatchMainThread();

  // Whether exit() has been called, after which no thread must be started.
  // Thread-safe.
  static bool HasBegun();

 private:
  struct Entry;

  static void EndAll();

  std::shared_ptr<Entry> entry_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CONTROL_END_AT_EXIT_H_
