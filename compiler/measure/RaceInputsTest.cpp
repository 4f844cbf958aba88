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

/// The floats of an input as they lie in memory.
std::vector<float> floatsOf(const RaceInputs &inputs, int number) {
  std::vector<float> data(inputs.numbers(number).count);
  TensorView view = inputs.shapes()[number];
  view.data = data.data();
  writeNumbers(inputs.numbers(number), view);
  return data;
}

std::string bytesOf(const RaceInputs &inputs, int number) {
  const std::vector<float> data = floatsOf(inputs, number);
  return std::string(reinterpret_cast<const char *>(data.data()),
                     data.size() * sizeof(float));
}

float first(const RaceInputs &inputs, int number) {
  return floatsOf(inputs, number).front();
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
      EXPECT_EQ(one.shapes()[i].sizes, other.shapes()[i].sizes);
      EXPECT_EQ(bytesOf(one, i), bytesOf(other, i));
    }
  }
}

TEST_F(RaceInputsTest, AreOfTheSet) {
  RaceInputs some = inputs();
  ASSERT_TRUE(some.make(JudgedInputs::Extreme).ok());
  const std::string extreme = bytesOf(some, 0);
  EXPECT_EQ(some.shapes()[0].sizes, std::vector<int64_t>{kMost});
  ASSERT_TRUE(some.make(JudgedInputs::Smallest).ok());
  EXPECT_EQ(some.shapes()[0].sizes, std::vector<int64_t>{kFewest});
  ASSERT_TRUE(some.make(JudgedInputs::WithNan).ok());
  EXPECT_TRUE(std::isnan(first(some, 0)));
  ASSERT_TRUE(some.make(JudgedInputs::Normal).ok());
  EXPECT_FALSE(std::isnan(first(some, 0)));
  EXPECT_NE(bytesOf(some, 0), extreme);
}

/// A weight is copied to the GPU, as often as it must not be in a cache, only
/// where it is another one.
TEST_F(RaceInputsTest, WeightsStayWhileTheirSizesDo) {
  RaceInputs some = inputs();
  ASSERT_TRUE(some.make(JudgedInputs::Extreme).ok());
  const std::string weight = bytesOf(some, 1), sized = bytesOf(some, 2);
  EXPECT_TRUE(some.isNew(1));
  ASSERT_TRUE(some.make(JudgedInputs::Smallest).ok());
  EXPECT_TRUE(some.isNew(0));
  EXPECT_FALSE(some.isNew(1));
  EXPECT_TRUE(some.isNew(2));
  EXPECT_EQ(bytesOf(some, 1), weight);
  ASSERT_TRUE(some.make(JudgedInputs::Normal).ok());
  EXPECT_EQ(bytesOf(some, 1), weight);
  EXPECT_EQ(bytesOf(some, 2), sized);
}

} // namespace
} // namespace aitune
