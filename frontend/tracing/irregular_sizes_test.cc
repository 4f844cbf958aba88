#include "frontend/tracing/irregular_sizes.h"

#include <gtest/gtest.h>
#include <torch/jit.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace aitune::frontend {
namespace {

using Symbols = std::set<std::vector<int>>;
using torch::jit::Node;
using torch::jit::Value;

// What the last branch or loop of a function's body is irregular in. The sizes
// of x, and the number n, are symbol 0; those of y and m are symbol 1.
Symbols IrregularIn(const std::string& body) {
  const auto unit = torch::jit::compile(
      "def f(x: Tensor, y: Tensor, n: int, m: int):\n" + body);
  const auto graph =
      torch::jit::toGraphFunction(unit->get_function({"f"})).graph();
  Node* last = nullptr;
  for (Node* node : graph->nodes()) {
    if (!node->blocks().empty()) last = node;
  }
  const auto outside = [&](Value* value) {
    const auto inputs = graph->inputs();
    const auto place = std::find(inputs.begin(), inputs.end(), value);
    if (place == inputs.end()) return SizeGrowth();
    return SizeGrowth{SizeGrowth::Kind::kLinear,
                      {static_cast<int>(place - inputs.begin()) % 2}};
  };
  return IrregularSymbols(last, outside);
}

// Of a branch on data that cuts x there.
Symbols IrregularInCut(const std::string& end) {
  return IrregularIn("    if bool(x.sum() > 0):\n        x = x[:" + end +
                     "]\n    return x\n");
}

TEST(IrregularSizes, OfPartsAndSteps) {
  EXPECT_EQ(IrregularIn(R"(
    parts = [x]
    for i in range(100):
        end = min(i * 40 + x[:n // 3].size(0), m)
        parts.append(x[i * 40:end])
    return parts
)"),
            Symbols());
  EXPECT_EQ(IrregularInCut("n // 3"), Symbols());
  EXPECT_EQ(IrregularIn(R"(
    k = 0
    while bool(x.sum() > k):
        k = k + n
    return k
)"),
            Symbols());
}

TEST(IrregularSizes, OfNumbersThatFewSizesHave) {
  EXPECT_EQ(IrregularInCut("n - n * n % 101 // 100"), (Symbols{{0}}));
  EXPECT_EQ(IrregularIn(R"(
    if bool(x.sum() > 0):
        if n == 77:
            x = x[1:]
    return x
)"),
            (Symbols{{0}}));
  EXPECT_EQ(IrregularInCut("int(n * 0.7)"), (Symbols{{0}}));
  EXPECT_EQ(IrregularIn(R"(
    if bool(x.sum() > 0):
        if n % 64 > 62:
            x = x[1:]
    return x
)"),
            (Symbols{{0}}));
}

TEST(IrregularSizes, OfStepsThatLieNearEachOther) {
  EXPECT_EQ(IrregularIn(R"(
    if bool(x.sum() > 0):
        k = min(max(n * 3 - 230, 0), 1) - min(max(n * 3 - 232, 0), 1)
        x = x[:n - k]
    return x
)"),
            (Symbols{{0}}));
}

TEST(IrregularSizes, OfTruthsOfNumbers) {
  EXPECT_EQ(IrregularIn(R"(
    if bool(x.sum() > 0):
        if n * 3 > 229 and n * 3 < 232:
            x = x[1:]
    return x
)"),
            (Symbols{{0}}));
  EXPECT_EQ(IrregularIn(R"(
    if bool(x.sum() > 0):
        if bool(n * 3 - 231):
            x = x[1:]
    return x
)"),
            (Symbols{{0}}));
  EXPECT_EQ(IrregularInCut("n & 511"), (Symbols{{0}}));
}

TEST(IrregularSizes, OfSeveralSymbols) {
  EXPECT_EQ(IrregularInCut("n - n * m % 997 // 996"), (Symbols{{0, 1}}));
  EXPECT_EQ(IrregularIn(R"(
    if bool(x.sum() > 0):
        x = x[n * n // 7:]
        y = y[m * m // 7:]
    return x, y
)"),
            (Symbols{{0}, {1}}));
  EXPECT_EQ(IrregularIn(R"(
    parts = [x]
    while len(parts) * m < n:
        parts.append(y)
    return parts
)"),
            (Symbols{{0, 1}}));
}

TEST(IrregularSizes, OfFormulas) {
  using Kind = SizeGrowth::Kind;
  const SizeExpression n = SizeExpression::Symbol(0),
                       m = SizeExpression::Symbol(1);
  const auto divide = [](const SizeExpression& a, int64_t b) {
    return SizeExpression::Binary(SizeExpression::Kind::kFloorDivide, a, b);
  };
  EXPECT_EQ(GrowthOf(SizeExpression(7)).kind, Kind::kFixed);
  EXPECT_EQ(GrowthOf(n * 3 + m).kind, Kind::kLinear);
  EXPECT_EQ(GrowthOf(n * m).kind, Kind::kPolynomial);
  EXPECT_EQ(GrowthOf(divide(n + 39, 40)).kind, Kind::kSteps);
  EXPECT_EQ(GrowthOf(n + divide(n, 40) * -40).kind, Kind::kPeriodic);
  EXPECT_EQ(GrowthOf(m + divide(n, 40)).kind, Kind::kSteps);
  EXPECT_EQ(GrowthOf(divide(n * m, 40)).kind, Kind::kIrregular);
  EXPECT_EQ(GrowthOf(n * m).symbols, (std::set<int>{0, 1}));
}

}  // namespace
}  // namespace aitune::frontend
