#include "compiler/plan/PlanBuilder.h"

#include "compiler/dialect/KernelAttributes.h"
#include "mlir/Parser/Parser.h"
#include "runtime/plan/plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using ::testing::HasSubstr;

namespace aitune {
namespace {

class PlanBuilderTest : public ::testing::Test {
protected:
  PlanBuilderTest() {
    context.loadDialect<ait::AitDialect, func::FuncDialect>();
  }

  absl::StatusOr<ExecutablePlan> build(const char *text) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    llvm::StringMap<KernelImplementation> implementations;
    for (auto function : module->getOps<func::FuncOp>()) {
      if (!mlir::ait::isKernel(function))
        continue;
      KernelImplementation implementation;
      implementation.name = "generated";
      ImplementationStep step;
      step.call.mutable_kernel()->set_symbol(function.getSymName().str());
      step.call.mutable_kernel()->set_grain(1);
      step.call.mutable_kernel()->set_buffers(function.getNumArguments() + 1);
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        step.inputs.push_back(i);
      step.outputs.push_back(function.getNumArguments());
      implementation.steps.push_back(step);
      implementations[function.getSymName()] = implementation;
    }
    return buildPlan(module->lookupSymbol<func::FuncOp>("main"),
                     mlir::ait::getModuleSymbols(*module), implementations);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

constexpr char kRelu[] = R"(
func.func private @relu(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.relu %x : tensor<4xf32>
  return %0 : tensor<4xf32>
})";

TEST_F(PlanBuilderTest, ResultsAreWrittenWhereTheCallerWantsThem) {
  auto plan = build((std::string(kRelu) + R"(
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = ait.launch @relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
})")
                        .c_str());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE(ValidatePlan(*plan).ok()) << ValidatePlan(*plan);
  ASSERT_EQ(plan->output_values_size(), 1);
  EXPECT_EQ(plan->values(plan->output_values(0)).storage(), ValueProto::OUTPUT);
  EXPECT_EQ(plan->steps(0).flops().value(), 4);
}

TEST_F(PlanBuilderTest, AViewOfAResultIsCopiedOut) {
  auto plan = build((std::string(kRelu) + R"(
func.func @main(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  %0 = ait.launch @relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ait.reshape %0 : tensor<4xf32> -> tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
})")
                        .c_str());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE(ValidatePlan(*plan).ok()) << ValidatePlan(*plan);
  EXPECT_EQ(plan->values(plan->output_values(0)).storage(), ValueProto::ALIAS);
}

TEST_F(PlanBuilderTest, APartOfAResultIsReadInItsMemory) {
  auto plan = build((std::string(kRelu) + R"(
func.func private @all(%x: tensor<3x4xf32>) -> tensor<3x4xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.relu %x : tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
func.func @main(%x: tensor<3x4xf32>) -> tensor<4xf32> {
  %0 = ait.launch @all(%x) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = ait.slice %0 {starts = array<i64: 2, 0>, steps = array<i64: 1, 1>} : tensor<3x4xf32> -> tensor<1x4xf32>
  %2 = ait.reshape %1 : tensor<1x4xf32> -> tensor<4xf32>
  %3 = ait.launch @relu(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
})")
                        .c_str());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE(ValidatePlan(*plan).ok()) << ValidatePlan(*plan);
  const ValueProto &row = plan->values(plan->steps(1).inputs(0));
  const ValueProto &part = plan->values(row.index());
  EXPECT_FALSE(row.has_offset());
  EXPECT_EQ(part.storage(), ValueProto::ALIAS);
  EXPECT_EQ(part.offset().value(), 8);
  EXPECT_EQ(part.index(), plan->steps(0).outputs(0));
}

TEST_F(PlanBuilderTest, ASliceThatIsNoRunOfMemoryIsRefused) {
  auto plan = build((std::string(kRelu) + R"(
func.func @main(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = ait.slice %x {starts = array<i64: 0, 0>, steps = array<i64: 1, 8>} : tensor<4x8xf32> -> tensor<4x1xf32>
  %1 = ait.reshape %0 : tensor<4x1xf32> -> tensor<4xf32>
  %2 = ait.launch @relu(%1) : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
})")
                        .c_str());
  EXPECT_THAT(std::string(plan.status().message()),
              HasSubstr("a slice outside of kernels is no run of memory"));
}

TEST_F(PlanBuilderTest, WorkOnConstantsIsDoneAtLoad) {
  auto plan = build((std::string(kRelu) + R"(
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c = ait.constant 0 : tensor<4xf32>
  %0 = ait.launch @relu(%c) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ait.launch @relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
})")
                        .c_str());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE(ValidatePlan(*plan).ok()) << ValidatePlan(*plan);
  EXPECT_EQ(plan->initialization_size(), 1);
  EXPECT_EQ(plan->steps_size(), 1);
  EXPECT_TRUE(plan->values(plan->output_values(0)).persistent());
  auto main = module->lookupSymbol<func::FuncOp>("main");
  const llvm::DenseSet<Value> known = findKnownAtLoad(main);
  Operation *end = main.getBody().front().getTerminator();
  EXPECT_TRUE(known.contains(end->getOperand(0)));
  EXPECT_FALSE(known.contains(end->getOperand(1)));
}

TEST_F(PlanBuilderTest, ConstantIndicesAreCheckedAgainstDynamicSizesInTheCall) {
  auto plan = build(R"(
module attributes {ait.symbols = [{name = "n", input = 0, axis = 0, min = 1, max = 8}]} {
func.func private @check(%x: tensor<4xi64>) -> tensor<4xi64> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.check %x {number = 0, operator_name = "aten::index", size = affine_map<()[s0] -> (s0)>} : tensor<4xi64>
  return %0 : tensor<4xi64>
}
func.func @main(%x: tensor<?xf32, affine_map<()[s0] -> (s0)>>) -> tensor<4xi64> {
  %c = ait.constant 0 : tensor<4xi64>
  %0 = ait.launch @check(%c) {check_locations = ["model.py:1"]} : (tensor<4xi64>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}
})");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->initialization_size(), 0);
  EXPECT_EQ(plan->steps_size(), 1);
}

TEST_F(PlanBuilderTest, AStepOnConstantsAloneIsDoneAtLoad) {
  auto single = build(R"(
func.func private @multiply(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.mul %x, %w : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = ait.constant 0 : tensor<4xf32>
  %0 = ait.launch @multiply(%x, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
})");
  ASSERT_TRUE(single.ok()) << single.status();
  EXPECT_EQ(single->initialization_size(), 0);
  // Operands: x, w, the result, a temporary made of w, one made of both.
  KernelImplementation implementation;
  const TensorTypeProto type = toProto(
      mlir::RankedTensorType::get({8}, mlir::Float32Type::get(&context)));
  implementation.temporaries = {type, type};
  for (auto [inputs, output] :
       {std::pair(std::vector<int>{1}, 3), {{0, 3}, 4}, {{4, 1}, 2}}) {
    ImplementationStep step;
    step.call.mutable_kernel()->set_symbol("multiply");
    step.call.mutable_kernel()->set_grain(1);
    step.call.mutable_kernel()->set_buffers(inputs.size() + 1);
    step.inputs = inputs;
    step.outputs = {output};
    implementation.steps.push_back(step);
  }
  llvm::StringMap<KernelImplementation> implementations;
  implementations["multiply"] = implementation;
  auto plan = buildPlan(module->lookupSymbol<func::FuncOp>("main"), {},
                        implementations);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE(ValidatePlan(*plan).ok()) << ValidatePlan(*plan);
  ASSERT_EQ(plan->initialization_size(), 1);
  ASSERT_EQ(plan->steps_size(), 2);
  EXPECT_TRUE(plan->values(plan->initialization(0).outputs(0)).persistent());
  EXPECT_FALSE(plan->values(plan->steps(0).outputs(0)).persistent());
  // The first step of a call counts as the kernel.
  EXPECT_EQ(plan->steps(0).flops().value(), 4);
  EXPECT_FALSE(plan->initialization(0).has_flops());
}

TEST_F(PlanBuilderTest, AnOperationOutsideKernelsIsNamed) {
  auto plan = build(R"(
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = ait.relu %x : tensor<4xf32>
  return %0 : tensor<4xf32>
})");
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("ait.relu"));
}

TEST_F(PlanBuilderTest, FallbacksKeepOperatorAndReason) {
  auto plan = build(R"(
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = ait.fallback %x {trace_ops = array<i64: 3>, operators = ["aten::foo"], reasons = ["nobody knows it"]} : (tensor<4xf32>) -> !ait.opaque
  %1 = ait.fallback %0 {trace_ops = array<i64: 4>, operators = ["aten::bar"], reasons = ["reads an opaque value"]} : (!ait.opaque) -> tensor<4xf32>
  return %1 : tensor<4xf32>
})");
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->steps_size(), 2);
  EXPECT_EQ(plan->steps(0).fallback().operator_(), "aten::foo");
  EXPECT_EQ(plan->steps(1).fallback().region(), 1);
  EXPECT_EQ(plan->values(plan->steps(0).outputs(0)).storage(),
            ValueProto::OPAQUE);
}

TEST_F(PlanBuilderTest, AResultOfAFallbackThatNothingReadsHasNoSizes) {
  auto plan = build(R"(
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = ait.fallback %x {trace_ops = array<i64: 3>, operators = ["aten::foo"], reasons = ["nobody knows it"]} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<0xi64>)
  return %0#0 : tensor<4xf32>
})");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE(ValidatePlan(*plan).ok()) << ValidatePlan(*plan);
  ASSERT_EQ(plan->steps(0).outputs_size(), 2);
  EXPECT_EQ(plan->values(plan->steps(0).outputs(0)).storage(),
            ValueProto::OUTPUT);
  EXPECT_EQ(plan->values(plan->steps(0).outputs(1)).storage(),
            ValueProto::OPAQUE);
}

TEST_F(PlanBuilderTest, SymbolsAndSizesReachThePlan) {
  auto plan = build(R"(
module attributes {ait.symbols = [{name = "s0", min = 1 : i64, max = 8 : i64, input = 0 : i64, axis = 0 : i64}]} {
func.func private @relu(%x: tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>) -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.relu %x : tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
  return %0 : tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
}
func.func @main(%x: tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>) -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>> {
  %0 = ait.launch @relu(%x) : (tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>) -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
  return %0 : tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
}})");
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->symbols_size(), 1);
  EXPECT_EQ(plan->symbols(0).max(), 8);
  auto flops = FromProto(plan->steps(0).flops(), 1);
  ASSERT_TRUE(flops.ok());
  EXPECT_EQ(flops->Evaluate({5}), 20);
}

// Parts of a model are measured alone: their inputs are others than its own.
TEST_F(PlanBuilderTest, APartOfAModelReadsItsSymbolsFromItsOwnInputs) {
  auto plan = build(R"(
module attributes {ait.symbols = [{name = "s0", min = 1 : i64, max = 8 : i64, input = 2 : i64, axis = 3 : i64},
                                  {name = "s1", min = 2 : i64, max = 9 : i64, input = 0 : i64, axis = 0 : i64}]} {
func.func private @relu(%x: tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.relu %x : tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  return %0 : tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
}
func.func @main(%x: tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>> {
  %0 = ait.launch @relu(%x) : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  return %0 : tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
}})");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_FALSE(ValidatePlan(*plan).ok());
  readSymbolsFromInputs(*plan);
  EXPECT_TRUE(ValidatePlan(*plan).ok()) << ValidatePlan(*plan);
  EXPECT_EQ(plan->symbols(0).input(), 0);
  EXPECT_EQ(plan->symbols(0).axis(), 1);
  ASSERT_EQ(plan->inputs_size(), 2);
  EXPECT_EQ(plan->symbols(1).input(), 1);
  EXPECT_EQ(plan->symbols(1).axis(), 0);
  EXPECT_EQ(plan->inputs(1).sizes_size(), 1);
}

} // namespace
} // namespace aitune
