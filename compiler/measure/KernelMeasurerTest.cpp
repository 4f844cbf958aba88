// The measurer against a process that does what its candidates say, from
// crashing on: this program itself, started with --worker.
#include "compiler/measure/KernelMeasurer.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "absl/strings/numbers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string program;

void hang() {
  for (;;)
    pause();
}

/// A candidate is "TIME" or what it does: "crash", "hang" or "exit" when it is
/// prepared, "crash later" when it is measured, "wrong".
WorkerReply answer(const WorkerRequest &request,
                   std::vector<std::string> &candidates) {
  WorkerReply reply;
  if (request.has_kernel()) {
    candidates.clear();
    // As the program of an older library answers, if it is asked to.
    if (request.kernel().target() != "older")
      reply.set_build(request.kernel().build());
  }
  for (const std::string &config : request.prepare().configs()) {
    if (config == "crash")
      raise(SIGSEGV);
    if (config == "hang")
      hang();
    if (config == "exit")
      _exit(3);
    candidates.push_back(config);
    WorkerResult &result = *reply.add_results();
    result.set_microseconds(-1);
    if (config == "wrong")
      result.set_note("differs from the default schedule");
  }
  for (int candidate : request.measure().candidates()) {
    if (candidates[candidate] == "nothing")
      return reply;
    if (candidates[candidate] == "crash later")
      raise(SIGKILL);
    double time = -1;
    if (!absl::SimpleAtod(candidates[candidate], &time))
      abort();
    WorkerResult &result = *reply.add_results();
    result.set_microseconds(time);
    result.set_low(time);
    result.set_high(time);
  }
  return reply;
}

int serve() {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  std::vector<std::string> candidates;
  uint64_t size = 0;
  while (read(STDIN_FILENO, &size, sizeof size) == sizeof size) {
    std::string bytes(size, '\0');
    WorkerRequest request;
    if (size > 0 &&
        read(STDIN_FILENO, bytes.data(), size) != static_cast<ssize_t>(size))
      return 1;
    if (!request.ParseFromString(bytes))
      return 1;
    bytes = answer(request, candidates).SerializeAsString();
    size = bytes.size();
    if (write(STDOUT_FILENO, &size, sizeof size) != sizeof size ||
        write(STDOUT_FILENO, bytes.data(), size) != static_cast<ssize_t>(size))
      return 1;
  }
  return 0;
}

class KernelMeasurerTest : public testing::Test {
protected:
  void begin(std::vector<std::string> candidates) {
    space.form = "test";
    for (const std::string &candidate : candidates)
      space.schedules.push_back({candidate, "", {}});
    ASSERT_TRUE(measurer.begin(WorkerKernel(), space).ok());
  }

  std::vector<Measurement> measure(std::vector<size_t> schedules) {
    auto results = measurer.measure(schedules, 0.01);
    EXPECT_TRUE(results.ok()) << results.status();
    return results.ok() ? *results : std::vector<Measurement>(schedules.size());
  }

  KernelSpace space;
  /// 0.3 s a candidate before it counts as hanging.
  KernelMeasurer measurer{{program, "--worker"}, 0.3};
};

TEST_F(KernelMeasurerTest, OneBadCandidateCostsTheOthersNothing) {
  struct Case {
    std::string candidate, note;
  };
  for (const Case &bad :
       {Case{"crash", "Segmentation"}, Case{"exit", "exit code 3"},
        Case{"hang", "longer than"}, Case{"crash later", "killed"},
        Case{"wrong", "differs"}}) {
    SCOPED_TRACE(bad.candidate);
    space = KernelSpace();
    begin({"10", "20", bad.candidate, "5"});
    // With the others, in the middle of them, and again.
    for (int round = 0; round < 2; ++round) {
      const std::vector<Measurement> results = measure({1, 2, 3, 0});
      EXPECT_EQ(results[0].microseconds, 20);
      EXPECT_LT(results[1].microseconds, 0);
      EXPECT_THAT(results[1].note, HasSubstr(bad.note));
      EXPECT_EQ(results[2].microseconds, 5);
      EXPECT_EQ(results[3].microseconds, 10);
      EXPECT_THAT(results[3].note, IsEmpty());
    }
  }
}

TEST_F(KernelMeasurerTest, SeveralBadCandidatesAreToldApart) {
  begin({"10", "crash", "hang", "crash later", "7"});
  const std::vector<Measurement> results = measure({4, 3, 2, 1});
  EXPECT_EQ(results[0].microseconds, 7);
  EXPECT_THAT(results[1].note, HasSubstr("killed"));
  EXPECT_THAT(results[2].note, HasSubstr("longer than"));
  EXPECT_THAT(results[3].note, HasSubstr("Segmentation"));
}

TEST_F(KernelMeasurerTest, ACrashInOneKernelDoesNotReachTheNext) {
  begin({"10", "crash"});
  EXPECT_THAT(measure({1})[0].note, HasSubstr("Segmentation"));
  KernelSpace next;
  next.schedules = {{"1", "", {}}, {"2", "", {}}};
  ASSERT_TRUE(measurer.begin(WorkerKernel(), next).ok());
  EXPECT_EQ(measurer.measure({1}, 0.01)->front().microseconds, 2);
}

TEST_F(KernelMeasurerTest, WhatIsNoTimeIsAFailure) {
  for (const std::string time : {"nan", "inf", "-inf", "-3"}) {
    SCOPED_TRACE(time);
    space = KernelSpace();
    begin({"10", time});
    const std::vector<Measurement> results = measure({1, 0});
    EXPECT_EQ(results[0].microseconds, -1);
    EXPECT_THAT(results[0].note, HasSubstr("a time of " + time + " us"));
    EXPECT_EQ(results[1].microseconds, 10);
  }
}

TEST_F(KernelMeasurerTest, ResultsThatAreMissingAreAnError) {
  begin({"10", "nothing"});
  const absl::Status status = measurer.measure({0, 1}, 0.01).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("1 results for 2 schedules"));
}

TEST_F(KernelMeasurerTest, AProgramOfAnotherBuildIsAnErrorThatNamesIt) {
  WorkerKernel kernel;
  kernel.set_build("this one");
  ASSERT_TRUE(measurer.begin(kernel, space).ok());
  kernel.set_target("older");
  KernelMeasurer other({program, "--worker"}, 0.3);
  const absl::Status status = other.begin(kernel, space);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("'" + program + "' is of another build"));
}

TEST(KernelMeasurerStart, AProgramThatCannotBeStartedIsAnError) {
  KernelSpace space;
  KernelMeasurer measurer({"/nonexistent/aitune"}, 0.5);
  EXPECT_FALSE(measurer.begin(WorkerKernel(), space).ok());
}

} // namespace
} // namespace aitune

int main(int argc, char **argv) {
  if (argc == 2 && std::string(argv[1]) == "--worker")
    return aitune::serve();
  aitune::program = argv[0];
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
