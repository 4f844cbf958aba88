// The calls of a module that run one after another in a thread of their own.
#ifndef AITUNE_FRONTEND_API_CALL_QUEUE_H_
#define AITUNE_FRONTEND_API_CALL_QUEUE_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/status/statusor.h"
#include "frontend/api/async_call.h"

namespace ait {

// Thread-safe. The thread starts with the first call.
class CallQueue {
 public:
  // Gives the result of a call. What it throws is kInternal.
  using Work = std::function<absl::StatusOr<c10::IValue>()>;

  CallQueue() = default;
  // Cancels the calls that have not ended, and waits for the one under way.
  ~CallQueue();
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  // Queues a call, which runs with the stance and the number of threads of the
  // calling thread. `options.outputs` is for `work`.
  std::unique_ptr<AsyncCall> Add(Work work, const CallOptions& options);

 private:
  void RunCalls();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<AsyncCall::State>> waiting_;
  std::shared_ptr<AsyncCall::State> running_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace ait

#endif  // AITUNE_FRONTEND_API_CALL_QUEUE_H_
