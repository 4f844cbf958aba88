#include "compiler/measure/RaceInputs.h"

#include <cmath>
#include <cstring>

#include "runtime/executable/test_plan.h"
#include "gtest/gtest.h"

namespace aitune {
namespace {

constexpr int64_t kFewest = 2, kMost = 96;

/// A plan of a dynamic input, of a weight and of one of the symbol's size.
ExecutablePlan planOfThree() {
  TestPlan plan;
  const SizeExpression n = plan.Symbol(kFewest, kMost, 0, 0);
  plan.Input({n});
  plan.Input({SizeExpression(80)});
  plan.Input({n});
  return plan.plan;
}

std::string bytesOf(const TensorView &view) {
  return std::string(static_cast<const char *>(view.data), BytesOf(view));
}

float first(const TensorView &view) {
  return *static_cast<const float *>(view.data);
}

class RaceInputsTest : public testing::Test {
protected:
  RaceInputs inputs() { return RaceInputs(plan, weights, true); }

  const ExecutablePlan plan = planOfThree();
  const std::set<int> weights = {1, 2};
};

/// The right results were computed from the inputs of another object.
TEST_F(RaceInputsTest, AreTheSameInAnyOrderOfTheSets) {
  RaceInputs one = inputs(), other = inputs();
  for (JudgedInputs set : {JudgedInputs::Extreme, JudgedInputs::Smallest,
                           JudgedInputs::WithNan, JudgedInputs::Normal}) {
    ASSERT_TRUE(other.make(JudgedInputs::WithNan).ok());
    ASSERT_TRUE(one.make(set).ok());
    ASSERT_TRUE(other.make(set).ok());
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(one.views()[i].sizes, other.views()[i].sizes);
      EXPECT_EQ(bytesOf(one.views()[i]), bytesOf(other.views()[i]));
    }
  }
}

TEST_F(RaceInputsTest, AreOfTheSet) {
  RaceInputs some = inputs();
  ASSERT_TRUE(some.make(JudgedInputs::Extreme).ok());
  const std::string extreme = bytesOf(some.views()[0]);
  EXPECT_EQ(some.views()[0].sizes, std::vector<int64_t>{kMost});
  ASSERT_TRUE(some.make(JudgedInputs::Smallest).ok());
  EXPECT_EQ(some.views()[0].sizes, std::vector<int64_t>{kFewest});
  ASSERT_TRUE(some.make(JudgedInputs::WithNan).ok());
  EXPECT_TRUE(std::isnan(first(some.views()[0])));
  ASSERT_TRUE(some.make(JudgedInputs::Normal).ok());
  EXPECT_FALSE(std::isnan(first(some.views()[0])));
  EXPECT_NE(bytesOf(some.views()[0]), extreme);
}

/// A weight is copied to the GPU, as often as it must not be in a cache, only
/// where it is another one.
TEST_F(RaceInputsTest, WeightsStayWhileTheirSizesDo) {
  RaceInputs some = inputs();
  ASSERT_TRUE(some.make(JudgedInputs::Extreme).ok());
  const std::string weight = bytesOf(some.views()[1]),
                    sized = bytesOf(some.views()[2]);
  EXPECT_TRUE(some.isNew(1));
  ASSERT_TRUE(some.make(JudgedInputs::Smallest).ok());
  EXPECT_TRUE(some.isNew(0));
  EXPECT_FALSE(some.isNew(1));
  EXPECT_TRUE(some.isNew(2));
  EXPECT_EQ(bytesOf(some.views()[1]), weight);
  ASSERT_TRUE(some.make(JudgedInputs::Normal).ok());
  EXPECT_EQ(bytesOf(some.views()[1]), weight);
  EXPECT_EQ(bytesOf(some.views()[2]), sized);
}

} // namespace
} // namespace aitune
