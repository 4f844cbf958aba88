#include "frontend/reduce/failure.h"

#include <signal.h>

#include <chrono>
#include <cmath>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::reduce {
namespace {

using testing::HasSubstr;
using End = ChildOutcome::End;
using Kind = Failure::Kind;

ChildOutcome RunShell(const std::string& script, double seconds = 60,
                      const std::function<bool()>& stop = {}) {
  const auto outcome = RunChild({"/bin/sh", "-c", script},
                                testing::TempDir() + "/errors", seconds, stop);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return outcome.value_or(ChildOutcome());
}

Failure Shown(const ChildOutcome& outcome, const std::string& json = "",
              std::optional<double> factor = std::nullopt) {
  const auto failure = FailureShown(outcome, json, 60, factor);
  EXPECT_TRUE(failure.ok()) << failure.status();
  return failure.value_or(Failure());
}

TEST(Child, ExitCodeAndErrors) {
  const ChildOutcome outcome = RunShell("echo text >&2; exit 3");
  EXPECT_EQ(outcome.end, End::kExited);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.errors, "text\n");
}

TEST(Child, CrashesAlone) {
  const ChildOutcome outcome = RunShell("kill -SEGV $$");
  EXPECT_EQ(outcome.end, End::kSignaled);
  EXPECT_EQ(outcome.signal, SIGSEGV);
  const Failure failure = Shown(outcome);
  EXPECT_EQ(failure.kind, Kind::kCrash);
  EXPECT_THAT(failure.text, HasSubstr("Segmentation"));
  EXPECT_FALSE(SameFailure(failure, Shown(RunShell("kill -ABRT $$"))));
}

TEST(Child, HangsForALimitedTimeWithWhatItStarted) {
  const std::string alive = testing::TempDir() + "/alive";
  std::filesystem::remove(alive);
  const auto start = std::chrono::steady_clock::now();
  const ChildOutcome outcome =
      RunShell("(sleep 2; touch " + alive + ") & sleep 60", 0.3);
  EXPECT_EQ(outcome.end, End::kTimedOut);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_EQ(Shown(outcome).kind, Kind::kHang);
  RunShell("sleep 2.5");
  EXPECT_FALSE(std::filesystem::exists(alive));
}

TEST(Child, StopsWhenAsked) {
  EXPECT_EQ(RunShell("sleep 60", 60, [] { return true; }).end, End::kStopped);
}

TEST(Child, WhatCannotRunIsAnError) {
  const auto outcome =
      RunChild({"/nowhere/x"}, testing::TempDir() + "/errors", 60, {});
  EXPECT_FALSE(outcome.ok());
  EXPECT_THAT(std::string(outcome.status().message()), HasSubstr("/nowhere/x"));
}

ChildOutcome Exited(int code, const std::string& errors = "") {
  ChildOutcome outcome;
  outcome.exit_code = code;
  outcome.errors = errors;
  return outcome;
}

std::string CheckJson(const std::string& cases) {
  return "{\"check\": {\"cases\": [" + cases + "]}}";
}

constexpr char kAgrees[] =
    R"({"name": "sample", "agrees": true, "skipped": false, "outputs": []})";
constexpr char kSkipped[] =
    R"({"name": "zeros", "agrees": true, "skipped": true, "outputs": []})";
constexpr char kDiffers[] =
    R"({"name": "random", "agrees": false, "skipped": false, "outputs": [
        {"output": "[1]", "agrees": false, "max_error": 0.5}]})";
constexpr char kRaises[] =
    R"({"name": "random", "agrees": false, "skipped": false, "outputs": [],
        "note": "ours raises"})";

TEST(Failure, WrongIsTheFirstCaseThatDiffers) {
  const Failure wrong =
      Shown(Exited(3), CheckJson(std::string(kAgrees) + "," + kDiffers));
  EXPECT_EQ(wrong.kind, Kind::kWrong);
  EXPECT_EQ(wrong.signature, "random");
  EXPECT_EQ(wrong.text, "random: output[1] differs from eager by 0.5");
  const Failure raises = Shown(Exited(3), CheckJson(kRaises));
  EXPECT_EQ(raises.kind, Kind::kWrong);
  EXPECT_FALSE(SameFailure(wrong, raises));
  EXPECT_TRUE(SameFailure(wrong, wrong));
}

TEST(Failure, EagerThatRaisesIsNone) {
  EXPECT_EQ(Shown(Exited(3), CheckJson(kSkipped)).kind, Kind::kNone);
}

TEST(Failure, SuccessIsNone) { EXPECT_EQ(Shown(Exited(0)).kind, Kind::kNone); }

TEST(Failure, ErrorsAreTheSameButForNumbers) {
  const Failure a = Shown(Exited(1, "[ 0.1 s] load\naitune: axis 12 of %3\n"));
  EXPECT_EQ(a.kind, Kind::kError);
  EXPECT_EQ(a.text, "axis 12 of %3");
  EXPECT_TRUE(SameFailure(a, Shown(Exited(1, "aitune: axis 4 of %17\n"))));
  EXPECT_FALSE(SameFailure(a, Shown(Exited(1, "aitune: no memory\n"))));
}

TEST(Failure, ARefusedCommandLineIsAnErrorOfOurs) {
  const auto failure = FailureShown(Exited(2, "aitune: bad\n"), "", 60, {});
  EXPECT_EQ(failure.status(), absl::InvalidArgumentError("bad"));
}

TEST(Failure, AReportThatCannotBeReadIsAnErrorOfOurs) {
  EXPECT_FALSE(FailureShown(Exited(3), "{", 60, {}).ok());
  EXPECT_FALSE(FailureShown(Exited(3), "{}", 60, {}).ok());
  EXPECT_FALSE(FailureShown(Exited(0), "{}", 60, 1.5).ok());
}

TEST(Failure, SlowByTheFactor) {
  const auto timed = [](const char* ours) {
    return Shown(Exited(0),
                 std::string("{\"timing\": {\"ours\": {\"median\": ") + ours +
                     "}, \"eager\": {\"median\": 1.0}}}",
                 1.5);
  };
  EXPECT_EQ(timed("1.4").kind, Kind::kNone);
  const Failure slow = timed("5.0");
  EXPECT_EQ(slow.kind, Kind::kSlow);
  EXPECT_DOUBLE_EQ(slow.lost_milliseconds, 4);
  EXPECT_TRUE(SameFailure(slow, timed("1.6")));
  Failure small = slow;
  small.lost_milliseconds = 0.1;
  EXPECT_FALSE(SameFailure(slow, small));
}

TEST(Failure, KindsHaveNames) {
  EXPECT_EQ(KindNamed("hang"), Kind::kHang);
  EXPECT_EQ(Name(Kind::kHang), "hang");
  EXPECT_EQ(KindNamed("other"), std::nullopt);
}

// A clock does not count so far.
TEST(RunChild, ALimitBeyondAllTimeIsNone) {
  for (const double seconds : {1e10, 1e300, HUGE_VAL})
    EXPECT_EQ(RunShell("exit 0", seconds).end, End::kExited) << seconds;
}

}  // namespace
}  // namespace aitune::reduce
