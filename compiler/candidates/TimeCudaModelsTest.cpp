#include "compiler/candidates/TimeCudaModels.h"

#include "runtime/plan/plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using testing::ElementsAre;

namespace aitune {
namespace {

/// One region that reads an input and a weight.
ExecutablePlan makePlan() {
  ExecutablePlan plan;
  TensorTypeProto type;
  type.set_dtype(static_cast<int>(DataType::kFloat16));
  type.add_sizes()->set_value(8);
  Step &step = *plan.add_steps();
  step.set_name("libtorch");
  step.mutable_fallback()->set_region(0);
  for (int index : {0, 1}) {
    ValueProto &value = *plan.add_values();
    value.set_storage(ValueProto::INPUT);
    value.set_index(index);
    *value.mutable_type() = type;
    *plan.add_inputs() = type;
    step.add_inputs(index);
  }
  ValueProto &result = *plan.add_values();
  result.set_storage(ValueProto::OUTPUT);
  *result.mutable_type() = type;
  step.add_outputs(2);
  *plan.add_outputs() = type;
  plan.add_output_values(2);
  return plan;
}

TEST(RepeatStep, EachHasItsOwnWeights) {
  const ExecutablePlan plan = repeatStep(makePlan(), {1}, 3);
  EXPECT_TRUE(ValidatePlan(plan).ok()) << ValidatePlan(plan);
  ASSERT_EQ(plan.steps_size(), 3);
  EXPECT_EQ(plan.inputs_size(), 4);
  std::set<int> weights, results;
  for (const Step &step : plan.steps()) {
    EXPECT_EQ(step.inputs(0), 0);
    weights.insert(plan.values(step.inputs(1)).index());
    results.insert(step.outputs(0));
  }
  EXPECT_THAT(weights, ElementsAre(1, 2, 3));
  EXPECT_EQ(results.size(), 3);
  EXPECT_EQ(plan.values(plan.steps(2).outputs(0)).storage(),
            ValueProto::OUTPUT);
}

TEST(RepeatStep, WithoutWeightsTheInputsAreShared) {
  const ExecutablePlan plan = repeatStep(makePlan(), {}, 8);
  EXPECT_TRUE(ValidatePlan(plan).ok()) << ValidatePlan(plan);
  EXPECT_EQ(plan.steps_size(), 8);
  EXPECT_EQ(plan.inputs_size(), 2);
}

} // namespace
} // namespace aitune
