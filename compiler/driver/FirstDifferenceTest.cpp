// What is wrong between kernels that are right: a target whose memory is.
#include "compiler/driver/FirstDifference.h"

#include "compiler/Compiler.h"
#include "compiler/candidates/CpuTarget.h"
#include "compiler/dialect/Ait.h"
#include "compiler/driver/StepPlan.h"
#include "compiler/driver/testing/RunningTarget.h"
#include "compiler/measure/HostTensor.h"
#include "compiler/measure/TestData.h"
#include "compiler/pipelines/Pipelines.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>
#include <set>

using namespace mlir;
using testing::HasSubstr;

namespace aitune {
namespace {

/// Four steps: two that compute alone, two that read what these gave.
constexpr char kTwoBranches[] = R"(
func.func @main(%x: tensor<64x96xf32>, %y: tensor<96x64xf32>) -> (tensor<64x96xf32>, tensor<96x64xf32>) {
  %v = ait.constant 0 : tensor<96x96xf32>
  %w = ait.constant 1 : tensor<64x64xf32>
  %0 = ait.sigmoid %x : tensor<64x96xf32>
  %1 = ait.tanh %y : tensor<96x64xf32>
  %2 = ait.matmul %1, %w : (tensor<96x64xf32>, tensor<64x64xf32>) -> tensor<96x64xf32>
  %3 = ait.matmul %0, %v : (tensor<64x96xf32>, tensor<96x96xf32>) -> tensor<64x96xf32>
  return %3, %2 : tensor<64x96xf32>, tensor<96x64xf32>
})";

/// A CPU on which, in whole models, the second step seems to write over the
/// result of the first if `isWrong`, which the last step reads.
class OverlappingTarget : public RunningTarget {
public:
  OverlappingTarget(const CompileOptions &options, bool isWrong)
      : cpu(createCpuTarget(options, 0)), isWrong(isWrong) {}

  absl::Status
  runModel(ModelCalls calls,
           absl::Span<const ConstantTensor> constants) const override {
    const int steps = isWrong ? calls.steps.value_or(0) : 0;
    std::set<int32_t> changed;
    if (steps >= 2) {
      changed.insert(calls.plan->steps(0).outputs(0));
      for (int i = 2; i < steps; ++i)
        if (llvm::is_contained(calls.plan->steps(i).inputs(),
                               calls.plan->steps(0).outputs(0)))
          changed.insert(calls.plan->steps(i).outputs(0));
    }
    const std::vector<std::vector<ValueCopy>> copies = calls.copies;
    const absl::Status status = cpu->runModel(std::move(calls), constants);
    for (const std::vector<ValueCopy> &call : copies)
      for (const ValueCopy &copy : call)
        if (changed.count(copy.value))
          static_cast<float *>(copy.to.data)[5] += 10;
    return status;
  }

private:
  const std::unique_ptr<CompilationTarget> cpu;
  const bool isWrong;
};

struct Numbers {
  explicit Numbers(std::vector<int64_t> sizes)
      : tensor({nullptr, DataType::kFloat32, std::move(sizes)}),
        view(tensor.view()) {
    std::mt19937 generator(7);
    fillRandom(view, generator);
  }
  HostTensor tensor;
  TensorView view;
};

absl::StatusOr<std::optional<FirstDifference>> findIn(bool isWrong) {
  DialectRegistry dialects;
  registerCompilerDialects(dialects);
  MLIRContext context(dialects);
  auto module = parseSourceString<ModuleOp>(kTwoBranches, &context);
  EXPECT_TRUE(module);
  const Numbers x({64, 96}), y({96, 64}), v({96, 96}), w({64, 64});
  const std::vector<ConstantTensor> constants = {{v.view, nullptr, "v"},
                                                 {w.view, nullptr, "w"}};
  CompileOptions options;
  options.measureCandidates = false;
  absl::StatusOr<CompileResult> result = compile(*module, constants, options);
  EXPECT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->plan.steps_size(), 4);
  options.audit.inputs = {x.view, y.view};
  const OverlappingTarget target(options, isWrong);
  return findFirstDifference(result->plan, result->objects, target, constants,
                             *module, options);
}

TEST(FirstDifference, ThereIsNoneWhereNothingIsWrong) {
  const auto found = findIn(false);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(found->has_value()) << (*found)->step << (*found)->reason;
}

TEST(FirstDifference, IsTheStepThatOverwritesWhatAnotherStillReads) {
  const auto found = findIn(true);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_TRUE(found->has_value());
  EXPECT_THAT((*found)->step, HasSubstr("tanh"));
  EXPECT_THAT((*found)->reason, HasSubstr("after it, the result of sigmoid"));
}

TEST(StepPlan, HasOnlyWhatTheStepNeeds) {
  ExecutablePlan plan;
  for (const auto storage :
       {ValueProto::CONSTANT, ValueProto::ARENA, ValueProto::ARENA,
        ValueProto::ALIAS, ValueProto::OUTPUT, ValueProto::OPAQUE})
    plan.add_values()->set_storage(storage);
  plan.mutable_values(1)->set_persistent(true);
  plan.mutable_values(3)->set_index(2);
  plan.add_outputs();
  plan.add_output_values(4);
  Step &prepare = *plan.add_initialization();
  prepare.add_inputs(0);
  prepare.add_outputs(1);
  Step &first = *plan.add_steps();
  first.add_inputs(1);
  first.add_outputs(2);
  Step &second = *plan.add_steps();
  second.add_inputs(3);
  second.add_outputs(4);
  Step &third = *plan.add_steps();
  third.add_inputs(5);
  third.add_outputs(4);
  auto isolated = isolateStep(plan, 0);
  ASSERT_TRUE(isolated.ok()) << isolated.status();
  EXPECT_EQ(isolated->plan.initialization_size(), 1);
  EXPECT_EQ(isolated->plan.values_size(), 3);
  EXPECT_THAT(isolated->inputs, testing::IsEmpty());
  EXPECT_THAT(isolated->outputs, testing::ElementsAre(2));
  isolated = isolateStep(plan, 1);
  ASSERT_TRUE(isolated.ok()) << isolated.status();
  EXPECT_EQ(isolated->plan.initialization_size(), 0);
  EXPECT_EQ(isolated->plan.values_size(), 3);
  EXPECT_THAT(isolated->inputs, testing::ElementsAre(2));
  EXPECT_THAT(isolated->outputs, testing::ElementsAre(4));
  EXPECT_EQ(isolateStep(plan, 2).status().code(),
            absl::StatusCode::kUnimplemented);
}

} // namespace
} // namespace aitune
