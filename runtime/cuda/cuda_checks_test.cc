// Indices that a kernel on a GPU finds out of range: who is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/cuda/testing/cuda_executable_fixture.h"
#include "runtime/logging/logging.h"

namespace aitune::cuda {
namespace {

using ::testing::HasSubstr;

// Twice, of what is not negative.
class CheckTest : public CudaExecutableTest {
 protected:
  void LoadChecked() {
    twice.has_checks = true;
    TestPlan plan;
    const SizeExpression n = plan.Symbol(1, 64, 0, 0);
    const int x = plan.Input({n}), y = plan.Output({n});
    Step* step = plan.AddStep({x}, {y});
    CudaKernelLaunch* launch = step->mutable_cuda_kernel();
    launch->set_symbol("twice");
    *launch->mutable_grid_x() = ToProto(n);
    launch->set_block_x(32);
    CheckProto* check = step->add_checks();
    check->set_operator_("aten::gather");
    check->set_location("model.py:4");
    *check->mutable_size() = ToProto(n);
    plan.plan.add_output_values(y);
    plan.plan.set_device("cuda");
    auto loaded = CudaExecutable::Load(FakeDevice(), plan.plan, {"cubin"}, {},
                                       {}, CudaExecutable::Options());
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    executable_ = *std::move(loaded);
  }
  static void ExpectNamed(const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("aten::gather at model.py:4: index -5 is out of "
                          "range for 3 entries"));
  }
  std::vector<float> bad_ = {1, -5, 3};
};

TEST_F(CheckTest, AFailureIsToldToWhoAsks) {
  LoadChecked();
  // Once by itself, then in a graph.
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(Run(x_, y_).ok());
    EXPECT_TRUE(executable_->TakeFailedCheck().ok());
    EXPECT_TRUE(Run(bad_, y_).ok());
    ExpectNamed(executable_->TakeFailedCheck());
    EXPECT_TRUE(executable_->TakeFailedCheck().ok()) << "told once";
  }
  EXPECT_EQ(gpu.graph_launches, 5);
}

TEST_F(CheckTest, AFailureThatNobodyAskedForIsTheNextCallsError) {
  LoadChecked();
  EXPECT_TRUE(Run(bad_, y_).ok());
  std::vector<float> other_sizes(5);
  ExpectNamed(Run(other_sizes, y_));
  EXPECT_EQ(gpu.launches, 1) << "that call is not run";
  EXPECT_TRUE(Run(x_, y_).ok());
  EXPECT_TRUE(executable_->TakeFailedCheck().ok());
}

// Also where the instance was given up since.
TEST_F(CheckTest, AFailureInACallersGraphIsToldToWhoAsks) {
  LoadChecked();
  const auto stream = FakeHandle<CUstream>();
  const Driver& driver = FakeDevice().driver();
  ASSERT_EQ(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_SUCCESS);
  y_.resize(3);
  std::vector<RegionValue> outputs{View(y_, {3})};
  ASSERT_TRUE(
      executable_->Run({View(bad_, {3})}, absl::MakeSpan(outputs), stream)
          .ok());
  CUgraph graph = nullptr;
  ASSERT_EQ(driver.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  CUgraphExec exec = nullptr;
  ASSERT_EQ(driver.cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
  for (int replay = 0; replay < 2; ++replay) {
    EXPECT_TRUE(executable_->TakeFailedCheck().ok());
    ASSERT_EQ(driver.cuGraphLaunch(exec, stream), CUDA_SUCCESS);
    ExpectNamed(executable_->TakeFailedCheck());
    executable_->FreeKeptMemory();
  }
  ASSERT_EQ(driver.cuGraphLaunch(exec, stream), CUDA_SUCCESS);
  gpu.DestroyCallersGraphs();
  executable_->FreeKeptMemory();
  ExpectNamed(executable_->TakeFailedCheck());
}

TEST_F(CheckTest, TheLastFailureIsInTheLog) {
  LoadChecked();
  EXPECT_TRUE(Run(bad_, y_).ok());
  std::string log;
  const LogSink before =
      SetLogSink([&log](LogChannel, std::string_view text) { log += text; });
  executable_.reset();
  SetLogSink(before);
  EXPECT_THAT(log, HasSubstr("aten::gather at model.py:4"));
}

}  // namespace
}  // namespace aitune::cuda
