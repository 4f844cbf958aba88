#include "frontend/backends/compiled/background_builds.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "absl/status/status.h"
#include "runtime/backend/source_model.h"
#include "runtime/control/call_limit.h"

namespace aitune::frontend {
namespace {

TEST(BackgroundBuildsTest, BuildsAreCounted) {
  BackgroundCounts counts;
  {
    int asked = 0;
    BackgroundBuilds builds(
        "net",
        [&](const Sample&) -> absl::Status {
          EXPECT_EQ(counts.pending, 1);
          ++asked;
          if (asked == 2) return absl::InternalError("no version");
          if (asked == 3) throw std::runtime_error("no version");
          return absl::OkStatus();
        },
        counts);
    for (int i = 0; i < 4; ++i) {
      EXPECT_TRUE(builds.Ask([] { return Sample(); }));
      EXPECT_TRUE(builds.Wait(std::nullopt));
    }
  }
  EXPECT_EQ(counts.builds, 2);
  EXPECT_EQ(counts.failures, 2);
  EXPECT_EQ(counts.pending, 0);
}

TEST(BackgroundBuildsTest, WaitingEndsInTime) {
  BackgroundCounts counts;
  std::promise<void> gate;
  BackgroundBuilds builds(
      "net",
      [&](const Sample&) -> absl::Status {
        gate.get_future().wait();
        return absl::OkStatus();
      },
      counts);
  EXPECT_TRUE(builds.Wait(std::nullopt)) << "there is none";
  EXPECT_TRUE(builds.Ask([] { return Sample(); }));
  EXPECT_FALSE(builds.Ask([] { return Sample(); })) << "one at a time";
  EXPECT_FALSE(builds.Wait(std::chrono::steady_clock::now()));
  CallLimit limit;
  limit.Cancel();
  {
    const ScopedCallLimit scope(&limit);
    EXPECT_FALSE(builds.Wait(std::nullopt));
  }
  EXPECT_TRUE(builds.Wait(std::nullopt, [] { return true; }));
  gate.set_value();
  EXPECT_TRUE(builds.Wait(std::nullopt));
  EXPECT_EQ(counts.builds, 1);
}

TEST(BackgroundBuildsTest, NothingIsBuiltInAChildProcess) {
  BackgroundCounts counts;
  BackgroundBuilds builds(
      "net", [](const Sample&) { return absl::OkStatus(); }, counts);
  ASSERT_TRUE(builds.Ask([] { return Sample(); }));
  ASSERT_TRUE(builds.Wait(std::nullopt));
  const pid_t child = fork();
  if (child == 0) {
    const bool asks = builds.Ask([] { return Sample(); });
    builds.~BackgroundBuilds();
    _exit(asks ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_FALSE(builds.is_of_parent());
}

#if !defined(__SANITIZE_THREAD__)  // which ends children that make threads
TEST(BackgroundBuildsTest, ExitWaitsForTheBuildUnderWay) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    static std::atomic<bool> has_begun = false, is_built = false;
    // Destroyed by exit, as a library's objects are.
    static const std::unique_ptr<int, void (*)(int*)> of_library(
        new int, [](int*) { _exit(is_built ? 7 : 8); });
    static BackgroundCounts counts;
    const auto builds = new BackgroundBuilds(
        "net",
        [](const Sample&) {
          has_begun = true;
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
          is_built = true;
          return absl::OkStatus();
        },
        counts);
    builds->Ask([] { return Sample(); });
    while (!has_begun) std::this_thread::yield();
    exit(9);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}
#endif

}  // namespace
}  // namespace aitune::frontend
