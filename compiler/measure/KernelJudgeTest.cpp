// The sizes that kernels are judged and timed at.
#include "compiler/measure/KernelJudge.h"
#include "runtime/plan/plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune {
namespace {

using ::testing::ElementsAre;

/// With two symbols and a value of s1 - s0 elements, as of y[x.size(0):].
ExecutablePlan difference(int64_t most0, int64_t least1, int64_t most1) {
  ExecutablePlan plan;
  for (auto [least, most] : {std::pair<int64_t, int64_t>(1, most0),
                             std::pair<int64_t, int64_t>(least1, most1)}) {
    SymbolProto *symbol = plan.add_symbols();
    symbol->set_min(least);
    symbol->set_max(most);
  }
  TensorTypeProto *type = plan.add_values()->mutable_type();
  type->set_dtype(static_cast<int>(DataType::kFloat32));
  *type->add_sizes() =
      ToProto(SizeExpression::Symbol(1) + SizeExpression::Symbol(0) * -1);
  return plan;
}

TEST(SymbolsOf, TheUpperEndIsLeftWhereASizeWouldBeNegative) {
  EXPECT_THAT(symbolsOf(difference(4, 1, 9), JudgedInputs::Normal),
              ElementsAre(4, 9));
  const ExecutablePlan plan = difference(70, 1, 9);
  EXPECT_FALSE(hasSizes(plan, {70, 9}));
  EXPECT_THAT(symbolsOf(plan, JudgedInputs::Normal), ElementsAre(1, 9));
}

} // namespace
} // namespace aitune
