// The sizes and inputs that kernels are judged and timed at.
#include <limits>

#include "compiler/dialect/Ait.h"
#include "compiler/measure/KernelJudge.h"
#include "compiler/measure/TestData.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "runtime/plan/plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune {
namespace {

using namespace mlir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

TEST(SymbolsOf, TheSizesOfTheCallAreTakenWhereOneIsKnown) {
  ExecutablePlan plan = difference(40, 1, 90);
  plan.mutable_symbols(0)->set_typical(8);
  // Beyond a range that was made shorter.
  plan.mutable_symbols(1)->set_typical(100);
  EXPECT_THAT(symbolsOf(plan, JudgedInputs::Normal), ElementsAre(8, 90));
  EXPECT_THAT(symbolsOf(plan, JudgedInputs::Smallest), ElementsAre(1, 1));
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(KernelJudge, ANanInAContractionMaySpreadButNotGetLost) {
  MLIRContext context;
  context.loadDialect<ait::AitDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      R"(
    func.func @kernel(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>)
        -> tensor<2x2xf32> {
      %0 = ait.matmul %a, %b
          : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
      %1 = ait.relu %0 : tensor<2x2xf32>
      return %1 : tensor<2x2xf32>
    })",
      &context);
  ASSERT_TRUE(module);
  KernelJudge judge(*module->getOps<func::FuncOp>().begin(), {{0, {}}, {1, {}}},
                    {});
  EXPECT_THAT(judge.inputSets({}),
              ElementsAre(JudgedInputs::Extreme, JudgedInputs::WithNan,
                          JudgedInputs::Normal));

  float a[] = {1, 0, 0, 1}, b[] = {1, 2, 3, 4}, result[] = {kNan, kNan, 3, 4};
  TensorView left{a, DataType::kFloat32, {2, 2}},
      right{b, DataType::kFloat32, {2, 2}},
      found{result, DataType::kFloat32, {2, 2}};
  putNan(left);
  ASSERT_TRUE(judge.prepare(JudgedInputs::WithNan, {left, right}, {}).ok());
  EXPECT_EQ(judge.judge(JudgedInputs::WithNan, {found}), "");
  result[2] = kNan;
  EXPECT_EQ(judge.judge(JudgedInputs::WithNan, {found}), "");
  result[0] = 0;
  EXPECT_THAT(judge.judge(JudgedInputs::WithNan, {found}),
              AllOf(HasSubstr("[0, 0]"), HasSubstr("on inputs with a NaN")));
}

} // namespace
} // namespace aitune
