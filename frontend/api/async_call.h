// A call of a module that runs while its caller does something else.
#ifndef AITUNE_FRONTEND_API_ASYNC_CALL_H_
#define AITUNE_FRONTEND_API_ASYNC_CALL_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "frontend/values/value_list.h"

namespace ait {

struct CallOptions {
  // The time from which the call's result is of no use. Not set: none.
  std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt;
  // Memory for the tensors of the result, in depth-first order of its nesting,
  // of exactly their dtypes and sizes; they are copied there. Not set: the
  // result has its own.
  std::optional<aitune::frontend::ValueList> outputs = std::nullopt;
  // Whether tensors of the result that lie in other memory, as in an argument's
  // or in the model's state, are copied when the call ends: later calls may
  // write there.
  bool owns_result = false;
  // Called once when the call has ended, by the thread that ended it, which is
  // one of the module's or, for a call that was not begun, that of Cancel or
  // Result. It may ask for the result. It must not throw, and not destroy the
  // call. Null: nothing.
  std::function<void()> done = nullptr;
};

// Thread-safe.
class AsyncCall {
 public:
  // Cancels the call, and waits until it has ended.
  ~AsyncCall();
  AsyncCall(const AsyncCall&) = delete;
  AsyncCall& operator=(const AsyncCall&) = delete;

  // Ends the call with kCancelled: at once if it has not begun, otherwise after
  // the step that is under way (runtime/control/call_limit.h says where that is
  // the end). A call that ends meanwhile keeps its result.
  void Cancel();

  // Whether the call has ended.
  bool has_ended() const;

  // The result, for which it waits. kCancelled after Cancel, or when the module
  // went; kDeadlineExceeded when the deadline passed before the call began, or
  // between two of its steps; otherwise as Module::Run. On a GPU it has been
  // computed.
  absl::StatusOr<c10::IValue> Result() const;

 private:
  friend class CallQueue;
  struct State;
  explicit AsyncCall(std::shared_ptr<State> state);

  const std::shared_ptr<State> state_;
};

}  // namespace ait

#endif  // AITUNE_FRONTEND_API_ASYNC_CALL_H_
