#include "frontend/api/call_queue.h"

#include <ATen/Parallel.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "frontend/values/torch_util.h"
#include "runtime/control/call_limit.h"
#include "runtime/control/control.h"

namespace ait {

// A call waits, is under way (`has_begun`), has a result, and has ended, after
// `done` was called.
struct AsyncCall::State {
  State(CallQueue::Work work, const CallOptions& options)
      : limit(options.deadline),
        work(std::move(work)),
        done(options.done),
        stance(aitune::CurrentStance()),
        threads(at::get_num_threads()) {}

  // Ends the call with `given`, if it has none yet and, with `unless_begun`, is
  // not under way.
  void End(absl::StatusOr<c10::IValue> given, bool unless_begun) {
    CallQueue::Work released;  // without the lock: it may hold large tensors
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (result.has_value() || (unless_begun && has_begun)) return;
      result = std::move(given);
      released = std::move(work);
    }
    released = nullptr;
    if (done) done();
    std::lock_guard<std::mutex> lock(mutex);
    has_ended = true;
    changed.notify_all();
  }

  // Whether the call is to be run now.
  bool Begin() {
    if (absl::Status status = limit.Check(); !status.ok()) {
      End(std::move(status), /*unless_begun=*/true);
      return false;
    }
    std::lock_guard<std::mutex> lock(mutex);
    return !result.has_value() && !std::exchange(has_begun, true);
  }

  void Run() {
    if (!Begin()) return;
    if (at::get_num_threads() != threads) at::set_num_threads(threads);
    const aitune::ScopedStance stances(stance);
    const aitune::ScopedCallLimit limits(&limit);
    End(Call(), /*unless_begun=*/false);
  }

  absl::StatusOr<c10::IValue> Call() {
    try {
      return work();
    } catch (const std::exception& error) {
      return aitune::frontend::StatusOf(error, absl::StatusCode::kInternal,
                                        "an asynchronous call raised");
    }
  }

  aitune::CallLimit limit;
  CallQueue::Work work;  // read by the thread that set has_begun
  const std::function<void()> done;
  const aitune::Stance stance;  // of the thread that made the call
  const int threads;
  std::mutex mutex;  // for what follows
  std::condition_variable changed;
  bool has_begun = false;
  bool has_ended = false;
  std::optional<absl::StatusOr<c10::IValue>> result;
};

AsyncCall::AsyncCall(std::shared_ptr<State> state) : state_(std::move(state)) {}

AsyncCall::~AsyncCall() {
  Cancel();
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->has_ended; });
}

void AsyncCall::Cancel() {
  state_->limit.Cancel();
  state_->End(state_->limit.Check(), /*unless_begun=*/true);
}

bool AsyncCall::has_ended() const {
  std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->has_ended;
}

absl::StatusOr<c10::IValue> AsyncCall::Result() const {
  std::unique_lock<std::mutex> lock(state_->mutex);
  const auto ended = [&] { return state_->has_ended; };
  if (state_->limit.deadline().has_value() &&
      !state_->changed.wait_until(lock, *state_->limit.deadline(), ended)) {
    lock.unlock();
    state_->End(state_->limit.Check(), /*unless_begun=*/true);
    lock.lock();
  }
  state_->changed.wait(lock, ended);
  return *state_->result;
}

CallQueue::~CallQueue() {
  std::vector<std::shared_ptr<AsyncCall::State>> left;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
    left.assign(waiting_.begin(), waiting_.end());
    if (running_ != nullptr) left.push_back(running_);
    waiting_.clear();
  }
  changed_.notify_all();
  for (const auto& call : left) {
    call->limit.Cancel();
    call->End(call->limit.Check(), /*unless_begun=*/true);
  }
  if (thread_.joinable()) thread_.join();
}

std::unique_ptr<AsyncCall> CallQueue::Add(Work work,
                                          const CallOptions& options) {
  auto state = std::make_shared<AsyncCall::State>(std::move(work), options);
  std::unique_ptr<AsyncCall> call(new AsyncCall(state));
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { RunCalls(); });
    waiting_.push_back(std::move(state));
  }
  changed_.notify_all();
  return call;
}

void CallQueue::RunCalls() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_stopping_ || !waiting_.empty(); });
    if (is_stopping_) return;
    running_ = std::move(waiting_.front());
    waiting_.pop_front();
    const std::shared_ptr<AsyncCall::State> call = running_;
    lock.unlock();
    call->Run();
    lock.lock();
    running_ = nullptr;
  }
}

}  // namespace ait
