#include "frontend/cli/peer_warm_up.h"

#include <c10/util/Exception.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"

namespace aitune::cli {
namespace {

// The first is watched, the second compiles, the third takes what that left.
constexpr int kCalls = 3;

std::atomic<bool> goes_on{false};

}  // namespace

absl::Status WarmUpPeer(const std::function<absl::Status()>& run,
                        double seconds) {
  auto ended = std::make_shared<std::promise<absl::Status>>();
  std::future<absl::Status> status = ended->get_future();
  std::thread([run, ended,
               warnings = c10::WarningUtils::get_warning_handler()] {
    const c10::WarningUtils::WarningHandlerGuard guard(warnings);
    absl::Status status;
    for (int call = 0; call < kCalls && status.ok(); ++call) status = run();
    ended->set_value(status);
  }).detach();
  if (status.wait_for(std::chrono::duration<double>(seconds)) ==
      std::future_status::ready)
    return status.get();
  goes_on = true;
  return absl::DeadlineExceededError(absl::StrCat(
      "LibTorch still compiles it after ", seconds, " s: not timed"));
}

int EndProgram(int code) {
  if (goes_on) std::_Exit(code);
  return code;
}

}  // namespace aitune::cli
