#include "compiler/measure/MeasurementProcess.h"

#include <signal.h>

#include "gtest/gtest.h"

namespace aitune {
namespace {

absl::Status callOf(const std::string &script, const WorkerRequest &request) {
  auto process = MeasurementProcess::start({"/bin/sh", "-c", script});
  EXPECT_TRUE(process.ok()) << process.status();
  return (*process)->call(request, 20).status();
}

TEST(MeasurementProcess, OneThatEndsEndsNeitherTheCallerNorItsSignals) {
  ASSERT_EQ(signal(SIGPIPE, SIG_DFL), SIG_DFL);
  WorkerRequest large;
  large.GetReflection()->MutableUnknownFields(&large)->AddLengthDelimited(
      1000, std::string(1 << 20, 'x'));
  EXPECT_EQ(callOf("exit 3", large).message(), "ended with exit code 3");
  EXPECT_EQ(callOf("exec <&-; exit 3", large).code(),
            absl::StatusCode::kAborted);
  EXPECT_EQ(signal(SIGPIPE, SIG_DFL), SIG_DFL);
}

TEST(MeasurementProcess, AnImpossibleLengthIsNoReply) {
  EXPECT_EQ(callOf("printf '\\377\\377\\377\\377\\377\\377\\377\\377'; cat", {})
                .code(),
            absl::StatusCode::kAborted);
}

TEST(MeasurementProcess, AProgramThatIsNotThereIsAnError) {
  auto process = MeasurementProcess::start({"/no/such/program"});
  EXPECT_EQ(process.status().code(), absl::StatusCode::kUnavailable);
}

} // namespace
} // namespace aitune
