// Formulas of one size that divide, or that are right beyond a bound only.
#include "frontend/trace/one_symbol_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

namespace aitune::frontend {
namespace {

struct Values {
  std::vector<int64_t> sizes, values;
};

// What `function` gives of all sizes from `first` to `last`.
Values ValuesOf(int64_t first, int64_t last,
                const std::function<int64_t(int64_t)>& function) {
  Values result;
  for (int64_t size = first; size <= last; ++size) {
    result.sizes.push_back(size);
    result.values.push_back(function(size));
  }
  return result;
}

TEST(FitRemainder, WhatAFactorGives) {
  const Values known =
      ValuesOf(1, 60, [](int64_t n) { return static_cast<int64_t>(n * 0.3); });
  const auto formula = FitRemainder(0, known.sizes, known.values);
  ASSERT_TRUE(formula.has_value());
  for (size_t i = 0; i < known.sizes.size(); ++i)
    EXPECT_EQ(formula->Evaluate({known.sizes[i]}), known.values[i]);
}

TEST(FitRemainder, WhatIsLeftBehindChunks) {
  const Values known =
      ValuesOf(1, 130, [](int64_t n) { return n - (n - 1) / 40 * 40; });
  const auto formula = FitRemainder(0, known.sizes, known.values);
  ASSERT_TRUE(formula.has_value());
  EXPECT_EQ(formula->Evaluate({81}), 1);
}

TEST(FitRemainder, SquaresHaveNone) {
  const Values known = ValuesOf(1, 60, [](int64_t n) { return n * n; });
  EXPECT_FALSE(FitRemainder(0, known.sizes, known.values).has_value());
}

TEST(FitAround, WhatGrowsBeyondABound) {
  const Values known =
      ValuesOf(1, 130, [](int64_t n) { return std::max<int64_t>(n - 40, 0); });
  const auto beyond = FitAround(0, known.sizes, known.values, /*place=*/90);
  ASSERT_TRUE(beyond.has_value());
  for (int64_t size = 40; size <= 130; ++size)
    EXPECT_EQ(beyond->Evaluate({size}), size - 40);
}

TEST(FitAround, WhatHasNoRuleHasNoFormula) {
  const Values known = ValuesOf(1, 130, [](int64_t n) {
    return static_cast<int64_t>(100 * std::sin(static_cast<double>(n * n)));
  });
  EXPECT_FALSE(FitAround(0, known.sizes, known.values, 64).has_value());
}

TEST(FitOneSymbol, FindsTheSymbol) {
  std::vector<SizePoint> points;
  std::vector<int64_t> values;
  for (int64_t n = 1; n < 30; ++n) {
    points.push_back({n % 4, n});
    values.push_back(3 * n / 2);
  }
  const auto formula = FitOneSymbol({0, 1}, points, values);
  ASSERT_TRUE(formula.has_value());
  EXPECT_EQ(formula->Evaluate({7, 11}), 16);
}

}  // namespace
}  // namespace aitune::frontend
