#include "runtime/logging/logging.h"

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LoggingTest : public testing::Test {
 protected:
  LoggingTest() {
    SetLogSink([this](LogChannel channel, std::string_view text) {
      records_.push_back(std::string(Name(channel)) + ": " + std::string(text));
    });
  }
  ~LoggingTest() override {
    SetLogSink(nullptr);
    SetEnabled(LogChannel::kRecompiles, false);
  }

  std::vector<std::string> records_;
};

TEST_F(LoggingTest, ChannelsAreOffUntilEnabled) {
  Log(LogChannel::kRecompiles, "one");
  SetEnabled(LogChannel::kRecompiles, true);
  Log(LogChannel::kRecompiles, "two");
  EXPECT_THAT(records_, ElementsAre("recompiles: two"));
}

TEST_F(LoggingTest, WarningsAndErrorsCannotBeTurnedOff) {
  SetEnabled(LogChannel::kWarning, false);
  Log(LogChannel::kWarning, "w");
  Log(LogChannel::kError, "e");
  EXPECT_THAT(records_, ElementsAre("warning: w", "error: e"));
}

TEST_F(LoggingTest, SinkIsCalledByOneThreadAtATime) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int j = 0; j < 100; ++j) Log(LogChannel::kWarning, "x");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(records_.size(), 400u);
}

TEST(ParseLogChannelsTest, NamesAndUnknownNames) {
  std::vector<std::string> unknown;
  EXPECT_THAT(ParseLogChannels("dynamic, output_code,", &unknown),
              ElementsAre(LogChannel::kDynamic, LogChannel::kOutputCode));
  EXPECT_THAT(unknown, IsEmpty());
  EXPECT_THAT(ParseLogChannels("", &unknown), IsEmpty());
  EXPECT_THAT(ParseLogChannels("recompile,error", &unknown), IsEmpty());
  EXPECT_THAT(unknown, ElementsAre("recompile", "error"));
  EXPECT_THAT(ParseLogChannels("+recompiles,-dynamic", &unknown),
              ElementsAre(LogChannel::kRecompiles));
}

// In a process of its own, which has logged nothing yet.
TEST(LogEnvironmentTest, NamesOfPyTorchCountToo) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto look = [] {
    setenv("TORCH_LOGS", "+dynamo,recompiles", /*overwrite=*/1);
    setenv("AITUNE_LOGS", "dynamic", /*overwrite=*/1);
    Log(LogChannel::kRecompiles, "a guard failed");
    Log(LogChannel::kPerfHints, "not named");
    std::exit(IsEnabled(LogChannel::kDynamic) ? 0 : 1);
  };
  EXPECT_EXIT(look(), testing::ExitedWithCode(0),
              "^aitune: recompiles: a guard failed\n$");
}

}  // namespace
}  // namespace aitune
