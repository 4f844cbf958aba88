// Which cases are built again, and how often.
#include "frontend/check/repair.h"

#include <ATen/ATen.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

Model LookUp() {
  auto model = Model::FromSource(
      "def forward(self, i: Tensor):\n"
      "  return torch.arange(4).index_select(0, i)\n");
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

class RepairTest : public ::testing::Test {
 protected:
  // Ours is `run`; a build replaces something if `replaces` says so.
  CheckReport Check(const RunFunction& run,
                    const std::vector<at::Tensor>& inputs,
                    const std::function<bool()>& replaces) {
    std::vector<InputCase> cases;
    for (const at::Tensor& input : inputs)
      cases.push_back({"case", ValueList({input.to(at::kLong)})});
    return CheckAndRepair(run, model_, cases, {},
                          [&](const ValueList&) -> absl::StatusOr<bool> {
                            ++builds_;
                            return replaces();
                          });
  }

  const Model model_ = LookUp();
  int builds_ = 0;
};

TEST_F(RepairTest, AWrongBuildIsBuiltAgain) {
  bool right = false;
  const CheckReport report = Check(
      [&](const ValueList& arguments) -> absl::StatusOr<c10::IValue> {
        return c10::IValue(arguments.values()[0].toTensor() + (right ? 0 : 1));
      },
      {at::tensor({1, 2})}, [&] { return right = true; });
  EXPECT_TRUE(report.agrees()) << report.Problem();
  EXPECT_EQ(builds_, 1);
  ASSERT_EQ(report.repairs.size(), 1u);
  EXPECT_TRUE(report.repairs[0].replaced);
}

TEST_F(RepairTest, BuildsInVainEnd) {
  const CheckReport report = Check(
      [&](const ValueList& arguments) -> absl::StatusOr<c10::IValue> {
        return c10::IValue(arguments.values()[0].toTensor() + 1);
      },
      {at::tensor({0}), at::tensor({1}), at::tensor({2})},
      [] { return false; });
  EXPECT_FALSE(report.agrees());
  EXPECT_EQ(builds_, 2);
}

TEST_F(RepairTest, AMissedErrorIsNoReasonToBuildAgain) {
  const CheckReport report = Check(
      [&](const ValueList& arguments) -> absl::StatusOr<c10::IValue> {
        return c10::IValue(arguments.values()[0].toTensor().clone());
      },
      {at::tensor({1}), at::tensor({9})}, [] { return true; });
  EXPECT_FALSE(report.agrees());
  EXPECT_TRUE(report.cases[1].missed_error);
  EXPECT_EQ(builds_, 0);
}

}  // namespace
}  // namespace aitune::frontend
