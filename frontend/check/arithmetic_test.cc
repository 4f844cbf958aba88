#include "frontend/check/arithmetic.h"

#include <ATen/Functions.h>
#include <ATen/core/ivalue.h>

#include "frontend/tracing/build_trace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::ElementsAre;

// Of a program on x, float16[4,4], and y, float32[4,4]. Dtypes are numbers in
// TorchScript: 4 int64, 5 float16, 6 float32, 15 bfloat16.
std::vector<std::optional<DataType>> Of(const std::string& body) {
  const auto model =
      Model::FromSource("def forward(self, x: Tensor, y: Tensor):\n" + body);
  EXPECT_TRUE(model.ok()) << model.status();
  const auto trace = BuildTrace(
      *model, ValueList({at::randn({4, 4}).to(at::kHalf), at::randn({4, 4})}),
      {});
  EXPECT_TRUE(trace.ok()) << trace.status();
  return ArithmeticOfOutputs(*trace);
}

TEST(ArithmeticOfOutputs, IsThatOfTheWayAndNotOfTheEnd) {
  EXPECT_THAT(Of("  return (x + x).to(6), y + y\n"),
              ElementsAre(DataType::kFloat16, DataType::kFloat32));
  EXPECT_THAT(Of("  return torch.matmul((x * 2).float(), y) + 1\n"),
              ElementsAre(DataType::kFloat16));
}

TEST(ArithmeticOfOutputs, CastsDownRound) {
  EXPECT_THAT(Of("  return y.to(15).to(6) + 1\n"),
              ElementsAre(DataType::kBFloat16));
  EXPECT_THAT(Of("  return y.to(5) + x.to(15)\n"),
              ElementsAre(DataType::kBFloat16));
}

TEST(ArithmeticOfOutputs, InputsAndMovesAreExact) {
  EXPECT_THAT(Of("  return x.t().reshape([2, 8]).float().exp(), x.t()\n"),
              ElementsAre(DataType::kFloat32, std::nullopt));
}

TEST(ArithmeticOfOutputs, WhatTracingComputedIsNotExact) {
  EXPECT_THAT(Of("  n = x.size(0)\n"
                 "  return torch.softmax(torch.arange(n) * 0.1, 0).to(7), y\n"),
              ElementsAre(DataType::kFloat32, std::nullopt));
  // A float32 table in float64 arithmetic.
  EXPECT_THAT(Of("  table = torch.exp(torch.arange(x.size(1)) * -0.1)\n"
                 "  return y.to(7) * table, y.to(7) * 3\n"),
              ElementsAre(DataType::kFloat32, DataType::kFloat64));
}

TEST(ArithmeticOfOutputs, IndicesHaveTheErrorsOfTheirScores) {
  EXPECT_THAT(Of("  return torch.argmax(x * 3, 1), "
                 "torch.index_select(y, 0, torch.argmax(x * 3, 1))\n"),
              ElementsAre(DataType::kFloat16, DataType::kFloat16));
}

}  // namespace
}  // namespace aitune::frontend
