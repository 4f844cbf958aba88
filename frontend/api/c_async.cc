// Calls in C that run while their caller does something else.
#include <ATen/core/ivalue.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/async_call.h"
#include "frontend/api/c_handles.h"
#include "frontend/values/borrowed_memory.h"
#include "frontend/values/value_list.h"
#include "runtime/status/status_macros.h"

struct ait_call {
  aitune::frontend::ValueList arguments;
  aitune::frontend::BorrowedMemory borrowed;  // of the arguments
  std::unique_ptr<ait::AsyncCall> call;
  bool was_given = false;  // whether a caller has the result's own memory

  // Once the call has ended: the caller's memory is not referred to any more.
  void Release() {
    arguments = aitune::frontend::ValueList();
    borrowed.Release();
  }
  ~ait_call() {
    call.reset();
    Release();
  }
};

namespace {

// A hundred years: what is later is no deadline, and its clock's number would
// not fit 64 bits.
constexpr double kMostMilliseconds = 100. * 365 * 24 * 3600 * 1000;

}  // namespace

ait_error* ait_module_run_async(const ait_module* module,
                                const ait_tensor* inputs, size_t count,
                                const ait_tensor* outputs, size_t output_count,
                                double milliseconds, void (*done)(void* user),
                                void* user, ait_call** call) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(ait::Need(module, "module"));
    AITUNE_RETURN_IF_ERROR(ait::Need(call, "call"));
    if (std::isnan(milliseconds))
      return absl::InvalidArgumentError(
          "the milliseconds are no number; give those from now on, or a number "
          "below 0 for no deadline");
    AITUNE_ASSIGN_OR_RETURN(auto arguments,
                            ait::ArgumentsOf(*module, inputs, count));
    ait::CallOptions options;
    if (outputs != nullptr || output_count > 0) {
      AITUNE_ASSIGN_OR_RETURN(
          options.outputs,
          ait::ValuesOf(*module, outputs, output_count, "output"));
    }
    if (milliseconds >= 0 && milliseconds < kMostMilliseconds)
      options.deadline =
          std::chrono::steady_clock::now() +
          std::chrono::duration_cast<std::chrono::steady_clock::duration>(
              std::chrono::duration<double, std::milli>(milliseconds));
    options.owns_result = true;
    auto made = std::make_unique<ait_call>();
    if (done != nullptr) options.done = [done, user] { done(user); };
    ait::AddTo(made->borrowed, arguments);
    made->call = module->module->RunAsync(arguments, options);
    made->arguments = std::move(arguments);
    *call = made.release();
    return absl::OkStatus();
  });
}

ait_error* ait_call_cancel(ait_call* call) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(ait::Need(call, "call"));
    call->call->Cancel();
    return absl::OkStatus();
  });
}

int ait_call_has_ended(const ait_call* call) {
  return call == nullptr || call->call->has_ended() ? 1 : 0;
}

ait_error* ait_call_wait(ait_call* call, ait_result** result) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(ait::Need(call, "call"));
    const absl::StatusOr<c10::IValue> value = call->call->Result();
    absl::StatusOr<std::unique_ptr<ait_result>> made = nullptr;
    if (value.ok() && result != nullptr)
      made = ait::ResultOf(
          call->was_given
              ? aitune::frontend::ValueList({*value}).Clone().values()[0]
              : *value,
          call->arguments);
    call->was_given |= result != nullptr;
    call->Release();
    AITUNE_RETURN_IF_ERROR(value.status());
    AITUNE_RETURN_IF_ERROR(made.status());
    if (result != nullptr) *result = made->release();
    return absl::OkStatus();
  });
}

void ait_call_free(ait_call* call) { delete call; }
