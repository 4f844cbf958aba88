#include "frontend/backends/compiled/background_builds.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "absl/status/status.h"
#include "runtime/backend/source_model.h"

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
      builds.Ask([] { return Sample(); });
      while (counts.pending > 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  EXPECT_EQ(counts.calls, 4);
  EXPECT_EQ(counts.builds, 2);
  EXPECT_EQ(counts.failures, 2);
  EXPECT_EQ(counts.pending, 0);
}

}  // namespace
}  // namespace aitune::frontend
