#include "compiler/tune/ModelChoice.h"

#include "compiler/codegen/cpu/target/Grain.h"
#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace aitune;

namespace {

Measurement interval(double low, double median, double high) {
  Measurement measured;
  measured.low = low;
  measured.microseconds = median;
  measured.high = high;
  return measured;
}

TEST(ModelChoiceTest, WhatWasFoundStaysUnlessSlowerBeyondDoubt) {
  // Variant 0 is the default, variant 1 what was found.
  EXPECT_EQ(chooseVariant({interval(9, 10, 11), interval(7, 8, 8.5)}, 1), 1u);
  EXPECT_EQ(chooseVariant({interval(9, 10, 11), interval(9.5, 10.5, 12)}, 1),
            1u);
  EXPECT_EQ(chooseVariant({interval(9, 10, 11), interval(11.5, 12, 13)}, 1),
            0u);
}

TEST(ModelChoiceTest, TheFastestOfThoseBeyondDoubt) {
  const Measurement tuned = interval(10, 11, 12);
  EXPECT_EQ(chooseVariant({interval(8, 9, 9.5), tuned, interval(6, 7, 8),
                           interval(5, 6.5, 10.5)},
                          1),
            2u);
}

TEST(ModelChoiceTest, WhatFailedIsNotTaken) {
  EXPECT_EQ(chooseVariant({interval(9, 10, 11), Measurement()}, 1), 0u);
  EXPECT_EQ(chooseVariant({Measurement(), interval(9, 10, 11)}, 1), 1u);
  EXPECT_EQ(chooseVariant({Measurement(), Measurement()}, 1), 1u);
}

TEST(ModelChoiceTest, OneThreadIsAGrainThatNoGridReaches) {
  ExecutablePlan plan;
  plan.add_steps()->mutable_kernel()->set_grain(3);
  plan.add_steps()->mutable_fallback();
  useOneThread(plan);
  EXPECT_EQ(plan.steps(0).kernel().grain(), kSerialGrain);
  EXPECT_FALSE(plan.steps(1).has_kernel());
}

TEST(ModelChoiceTest, ModelsWithStepsOfLibTorchAreNotMeasured) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::ait::AitDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = ait.fallback %x {trace_ops = array<i64: 3>, operators = ["aten::foo"], reasons = ["nobody knows it"]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
})",
                                                        &context);
  ASSERT_TRUE(module);
  const CompileOptions options;
  auto target = createTarget(options, /*constantBytes=*/0);
  ASSERT_TRUE(target.ok()) << target.status();
  CompileResult result;
  auto choice =
      chooseModel(*module->getOps<mlir::func::FuncOp>().begin(), {},
                  ChosenKernels(), **target, {}, /*seconds=*/0.01, result);
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_FALSE(choice->keepsDefaults);
  EXPECT_FALSE(choice->oneThread);
  EXPECT_TRUE(result.candidates.empty());
}

} // namespace
