#include "frontend/cli/peer_warm_up.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>

namespace aitune::cli {
namespace {

using testing::HasSubstr;

TEST(WarmUpPeer, MakesItsFirstCalls) {
  std::atomic<int> calls{0};
  EXPECT_TRUE(WarmUpPeer(
                  [&] {
                    ++calls;
                    return absl::OkStatus();
                  },
                  60)
                  .ok());
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(EndProgram(3), 3);
}

TEST(WarmUpPeer, TellsTheFirstError) {
  int calls = 0;
  EXPECT_EQ(WarmUpPeer(
                [&] {
                  ++calls;
                  return absl::InternalError("no");
                },
                60),
            absl::InternalError("no"));
  EXPECT_EQ(calls, 1);
}

// The process ends although the peer does not, with what was written.
TEST(WarmUpPeerDeathTest, APeerThatGoesOnIsLeft) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const absl::Status status = WarmUpPeer(
            []() -> absl::Status {
              for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
            },
            0.05);
        std::cerr << status.message() << std::endl;
        EndProgram(3);
      },
      testing::ExitedWithCode(3), "still compiles it after 0.05 s");
}

}  // namespace
}  // namespace aitune::cli
