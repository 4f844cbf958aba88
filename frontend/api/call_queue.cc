#include "frontend/api/call_queue.h"

#include <ATen/Parallel.h>
#include <ATen/core/ivalue.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "frontend/values/torch_util.h"
#include "runtime/control/call_limit.h"
#include "runtime/control/control.h"
#include "runtime/control/ending_thread.h"

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
      told = std::this_thread::get_id();
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

  // Whether the call has ended for this thread: `done`, which is called before
  // the others know, has the result too. With mutex held.
  bool HasEndedHere() const {
    return has_ended ||
           (result.has_value() && told == std::this_thread::get_id());
  }

  // Whether a parent of this process made the call, whose thread runs it there.
  bool is_of_parent() const { return process != getpid(); }

  const pid_t process = getpid();
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
  std::thread::id told;  // the thread that has the result and calls `done`
};

AsyncCall::AsyncCall(std::shared_ptr<State> state) : state_(std::move(state)) {}

AsyncCall::~AsyncCall() {
  if (state_->is_of_parent()) {
    // Its lock and its waiting threads are as they were when the process was
    // copied: it can't be destroyed.
    new std::shared_ptr<State>(state_);
    return;
  }
  Cancel();
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->HasEndedHere(); });
}

void AsyncCall::Cancel() {
  if (state_->is_of_parent()) return;
  state_->limit.Cancel();
  state_->End(state_->limit.Check(), /*unless_begun=*/true);
}

bool AsyncCall::has_ended() const {
  if (state_->is_of_parent()) return true;
  std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->HasEndedHere();
}

absl::StatusOr<c10::IValue> AsyncCall::Result() const {
  if (state_->is_of_parent())
    return absl::FailedPreconditionError(
        "the call was made before fork, and its result is the parent's; make "
        "it anew in this process");
  std::unique_lock<std::mutex> lock(state_->mutex);
  const auto ended = [&] { return state_->HasEndedHere(); };
  if (state_->limit.deadline().has_value() &&
      !state_->changed.wait_until(lock, *state_->limit.deadline(), ended)) {
    lock.unlock();
    state_->End(state_->limit.Check(), /*unless_begun=*/true);
    lock.lock();
  }
  state_->changed.wait(lock, ended);
  return *state_->result;
}

struct CallQueue::Calls {
  ~Calls();
  // Cancels the calls that have not ended, and waits for the one under way.
  void Stop();
  void RunAll();

  const pid_t process = getpid();
  std::mutex mutex;  // for what follows
  std::condition_variable changed;
  std::deque<std::shared_ptr<AsyncCall::State>> waiting;
  std::shared_ptr<AsyncCall::State> running;
  bool is_stopping = false;
  aitune::EndingThread thread;
};

CallQueue::Calls::~Calls() { Stop(); }

void CallQueue::Calls::Stop() {
  std::vector<std::shared_ptr<AsyncCall::State>> left;
  {
    std::lock_guard<std::mutex> lock(mutex);
    is_stopping = true;
    left.assign(waiting.begin(), waiting.end());
    if (running != nullptr) left.push_back(running);
    waiting.clear();
  }
  changed.notify_all();
  for (const auto& call : left) {
    call->limit.Cancel();
    call->End(call->limit.Check(), /*unless_begun=*/true);
  }
  thread.Join();
}

void CallQueue::Calls::RunAll() {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return is_stopping || !waiting.empty(); });
    if (is_stopping) return;
    running = std::move(waiting.front());
    waiting.pop_front();
    const std::shared_ptr<AsyncCall::State> call = running;
    lock.unlock();
    call->Run();
    lock.lock();
    running = nullptr;
  }
}

CallQueue::CallQueue() : calls_(new Calls) {}

CallQueue::~CallQueue() {
  Calls* const calls = calls_;
  if (calls->process == getpid()) delete calls;
}

// Those of a parent stay as they are: their thread is not in this process, and
// may have had the lock when it was copied.
CallQueue::Calls& CallQueue::Own() {
  Calls* calls = calls_;
  while (calls->process != getpid()) {
    auto made = std::make_unique<Calls>();
    if (calls_.compare_exchange_strong(calls, made.get()))
      return *made.release();
  }
  return *calls;
}

std::unique_ptr<AsyncCall> CallQueue::Add(Work work,
                                          const CallOptions& options) {
  auto state = std::make_shared<AsyncCall::State>(std::move(work), options);
  std::unique_ptr<AsyncCall> call(new AsyncCall(state));
  Calls& calls = Own();
  bool is_too_late = false;
  {
    std::lock_guard<std::mutex> lock(calls.mutex);
    is_too_late =
        calls.is_stopping || (!calls.thread.has_started() &&
                              !calls.thread.Start([&calls] { calls.RunAll(); },
                                                  [&calls] { calls.Stop(); }));
    if (!is_too_late) calls.waiting.push_back(std::move(state));
  }
  if (is_too_late) call->Cancel();
  calls.changed.notify_all();
  return call;
}

}  // namespace ait
