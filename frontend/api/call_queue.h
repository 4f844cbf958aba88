// The calls of a module that run one after another in a thread of their own.
#ifndef AITUNE_FRONTEND_API_CALL_QUEUE_H_
#define AITUNE_FRONTEND_API_CALL_QUEUE_H_

#include <atomic>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "frontend/api/async_call.h"

namespace ait {

// Thread-safe. The thread starts with the first call; a child of fork gets one
// of its own with its first call.
class CallQueue {
 public:
  // Gives the result of a call. What it throws is kInternal.
  using Work = std::function<absl::StatusOr<c10::IValue>()>;

  CallQueue();
  // Cancels the calls that have not ended, and waits for the one under way.
  ~CallQueue();
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  // Queues a call, which runs with the stance and the number of threads of the
  // calling thread. `options.outputs` is for `work`.
  std::unique_ptr<AsyncCall> Add(Work work, const CallOptions& options);

 private:
  // What belongs to one process.
  struct Calls;

  // Those of this process.
  Calls& Own();

  std::atomic<Calls*> calls_;
};

}  // namespace ait

#endif  // AITUNE_FRONTEND_API_CALL_QUEUE_H_
