#include "frontend/check/run_guard.h"

#include <ATen/ATen.h>

#include "frontend/check/check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;

Model Doubling() {
  auto model = Model::FromSource(
      "def forward(self, x: Tensor):\n"
      "    while bool(x.sum() < 100):\n"
      "        x = x * 2\n"
      "    return x\n");
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

ValueList Arguments(const at::Tensor& tensor) {
  return ValueList({c10::IValue(tensor)});
}

TEST(RunGuard, TellsALoopThatGoesOnFromOneThatEnds) {
  const Model model = Doubling();
  const RunGuard guard(model, Device());
  EXPECT_EQ(guard.Try(Arguments(at::ones({4})), 5), absl::OkStatus());
  const absl::Status late = guard.Try(Arguments(at::zeros({4})), 0.1);
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(late.message()), HasSubstr("goes on after 0.1 s"));
  // The next run has its own time.
  EXPECT_EQ(guard.Try(Arguments(at::ones({4})), 5), absl::OkStatus());
}

TEST(RunGuard, LeavesAModelWithoutLoopsAlone) {
  const auto model =
      Model::FromSource("def forward(self, x: Tensor):\n    return x + 1\n");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(RunGuard(*model, Device()).Try(Arguments(at::ones({4})), 0),
            absl::OkStatus());
}

TEST(RunGuard, WritesToCopiesOfTheArguments) {
  const auto model = Model::FromSource(
      "def forward(self, x: Tensor):\n"
      "    while bool(x.sum() < 100):\n"
      "        x.mul_(2)\n"
      "    return x\n");
  ASSERT_TRUE(model.ok()) << model.status();
  const at::Tensor x = at::ones({4});
  EXPECT_EQ(RunGuard(*model, Device()).Try(Arguments(x), 5), absl::OkStatus());
  EXPECT_TRUE(x.equal(at::ones({4})));
}

TEST(RunGuard, WhatTheModelRaisesIsNoLoop) {
  const auto model = Model::FromSource(
      "def forward(self, x: Tensor):\n"
      "    for i in range(3):\n"
      "        assert bool(x.sum() < 0), \"no\"\n"
      "    return x\n");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(RunGuard(*model, Device()).Try(Arguments(at::ones({4})), 5),
            absl::OkStatus());
}

TEST(RunGuard, TellsWhatWouldEndTheProcess) {
  const auto model = Model::FromSource(
      "def forward(self, x: Tensor, p: Tensor, b: Tensor):\n"
      "    e = torch.linalg_eigvals(x / x.sum())\n"
      "    return torch.view_as_real(e), torch.linalg_ldl_solve(x, p, b)\n");
  ASSERT_TRUE(model.ok()) << model.status();
  const RunGuard guard(*model, Device());
  const auto tried = [&](const at::Tensor& x, at::ArrayRef<int> pivots) {
    return std::string(
        guard
            .Try(ValueList({x, at::tensor(pivots, at::kInt), at::ones({3, 1})}),
                 5)
            .message());
  };
  const at::Tensor x = at::eye(3) + 1;
  EXPECT_EQ(tried(x, {1, 2, 3}), "");
  EXPECT_EQ(tried(x, {1, -3, -3}), "");
  EXPECT_THAT(tried(at::zeros({3, 3}), {1, 2, 3}),
              HasSubstr("eigvals of what"));
  for (const std::vector<int>& pivots :
       {std::vector<int>{0, 1, 2}, {1, 2, 4}, {1, 2, -3}, {-2, 2, 3}})
    EXPECT_THAT(tried(x, pivots), HasSubstr("pivots that are none"));
}

TEST(RunGuard, TellsOfSizesThatWouldEndTheProcess) {
  const struct {
    const char* body;
    std::vector<at::Tensor> survived;
    at::Tensor fatal;
    const char* reason;
  } kPrograms[] = {{"    n = x.size(0)\n    return x * (n % (n // 8))\n",
                    {at::ones({9})},
                    at::ones({7}),
                    "a division by 0"},
                   {"    return torch.scaled_dot_product_attention(x, x, x)\n",
                    {at::ones({2, 3, 4, 8}), at::ones({0, 3, 4, 8}),
                     at::ones({2, 0, 0, 8}), at::ones({2, 0, 4, 8}, at::kLong)},
                    at::ones({2, 0, 4, 8}),
                    "attention without heads"}};
  for (const auto& program : kPrograms) {
    const auto model = Model::FromSource(
        std::string("def forward(self, x: Tensor):\n") + program.body);
    ASSERT_TRUE(model.ok()) << model.status();
    const RunGuard guard(*model, Device());
    for (const at::Tensor& x : program.survived)
      EXPECT_EQ(guard.Try(Arguments(x), 5), absl::OkStatus());
    EXPECT_THAT(std::string(guard.Try(Arguments(program.fatal), 5).message()),
                HasSubstr(program.reason));
  }
}

// The check goes on with the other inputs.
TEST(RunGuard, ACaseThatNeverEndsIsLeftOut) {
  const Model model = Doubling();
  const RunFunction ours = [&](const ValueList& arguments) {
    return model.RunEager(arguments);
  };
  const std::vector<InputCase> cases = {{"sample", Arguments(at::ones({4}))},
                                        {"zeros", Arguments(at::zeros({4}))}};
  CheckOptions options;
  options.seconds_of_loops = 0.2;
  const CheckReport report = CheckAgainstEager(ours, model, cases, options);
  ASSERT_EQ(report.cases.size(), 2u);
  EXPECT_FALSE(report.cases[0].skipped);
  EXPECT_TRUE(report.cases[1].skipped);
  EXPECT_THAT(report.cases[1].note, HasSubstr("a loop of the model goes on"));
  EXPECT_TRUE(report.agrees()) << report.Problem();
}

}  // namespace
}  // namespace aitune::frontend
