// What holds for every operator: constants, locations, fallbacks, the module's
// form, and traces that contradict themselves.
#include "frontend/importer/importer.h"

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/dialect/Ait.h"
#include "frontend/importer/trace_maker.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
constexpr DataType kF32 = DataType::kFloat32;

TEST(ImportTrace, MakesAFunctionOfInputsAndOutputs) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {2, 3});
  maker.Output(maker.Call("aten::relu", {{"self", x}}, kF32, {2, 3}));
  EXPECT_EQ(maker.Import(),
            "%0 = ait.relu %arg0 : tensor<2x3xf32>\n"
            "func.return %0 : tensor<2x3xf32>\n");
  EXPECT_EQ(maker.report().imported, 1);
}

TEST(ImportTrace, CarriesSymbolsInTypesAndOnTheModule) {
  TraceMaker maker;
  SizeExpression batch = maker.Symbol(1, 32);
  ValueId x = maker.Input(kF32, {batch, 3});
  maker.Output(maker.Call("aten::relu", {{"self", x}}, kF32, {batch, 3}));
  mlir::MLIRContext context;
  auto module = ImportTrace(maker.trace(), context, nullptr);
  ASSERT_TRUE(module.ok()) << module.status();
  std::string text;
  llvm::raw_string_ostream(text) << **module;
  EXPECT_THAT(text, HasSubstr("ait.symbols = [{axis = 0 : i64, input = 0 : "
                              "i64, max = 32 : i64, min = 1 : i64, "
                              "name = \"s0\"}]"));
  EXPECT_THAT(text,
              HasSubstr("tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>"));
}

TEST(ImportTrace, EqualSizesOfDifferentFormGetOneType) {
  TraceMaker maker;
  SizeExpression n = maker.Symbol(1, 32);
  SizeExpression same =
      SizeExpression::Binary(SizeExpression::Kind::kFloorDivide, n * 4 + 3, 4);
  ValueId x = maker.Input(kF32, {n, 3});
  ValueId y = maker.Call("aten::relu", {{"self", x}}, kF32, {same, 3});
  maker.Output(maker.Call(
      "aten::add.Tensor",
      {{"self", x}, {"other", y}, {"alpha", SizeExpression(1)}}, kF32, {n, 3}));
  EXPECT_THAT(maker.Import(), Not(HasSubstr("reshape")));
  EXPECT_EQ(maker.Reason(), "");
}

TEST(ImportTrace, OneConstantForManyUsesAndNumbersInline) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {4});
  ValueId weight = maker.Weight(kF32, {4});
  ValueId y = maker.Call("aten::mul.Tensor", {{"self", x}, {"other", weight}},
                         kF32, {4});
  y = maker.Call("aten::mul.Tensor", {{"self", y}, {"other", weight}}, kF32,
                 {4});
  maker.Output(maker.Call("aten::mul.Tensor",
                          {{"self", y}, {"other", maker.Number(2.5f)}}, kF32,
                          {4}));
  EXPECT_EQ(maker.Import(),
            "%0 = ait.constant 0 {name = \"constant0\"} : tensor<4xf32>\n"
            "%1 = ait.mul %arg0, %0 : tensor<4xf32>\n"
            "%2 = ait.mul %1, %0 : tensor<4xf32>\n"
            "%3 = ait.full 2.500000e+00 : f32 : tensor<4xf32>\n"
            "%4 = ait.mul %2, %3 : tensor<4xf32>\n"
            "func.return %4 : tensor<4xf32>\n");
}

TEST(ImportTrace, NumbersOfEachDtypeAreRead) {
  const std::vector<std::tuple<DataType, std::string, std::string>> cases = {
      {DataType::kFloat64, std::string("\0\0\0\0\0\0\xf8\xbf", 8),
       "-1.500000e+00 : f64"},
      {DataType::kFloat32, std::string("\0\0\xc0\xbf", 4),
       "-1.500000e+00 : f32"},
      {DataType::kFloat16, std::string("\0\xbe", 2), "-1.500000e+00 : f16"},
      {DataType::kBFloat16, "\xc0\xbf", "-1.500000e+00 : bf16"},
      {DataType::kFloat8E4M3Fn, "\xbc", "-1.500000e+00 : f8E4M3FN"},
      {DataType::kInt64, "\xfe\xff\xff\xff\xff\xff\xff\xff", "-2 : i64"},
      {DataType::kInt32, "\xfe\xff\xff\xff", "-2 : i32"},
      {DataType::kInt16, "\xfe\xff", "-2 : i16"},
      {DataType::kInt8, "\xfe", "-2 : i8"},
      {DataType::kUInt8, "\xfe", "254 : ui8"},
      {DataType::kBool, "\1", "true"},
  };
  for (const auto& [dtype, bytes, text] : cases) {
    TraceMaker maker;
    const ValueId number = maker.Weight(dtype, {});
    auto data = std::make_shared<std::string>(bytes);
    maker.trace().constants[0].view.data = data->data();
    maker.trace().constants[0].owner = data;
    maker.Output(number);
    EXPECT_THAT(maker.Import(), HasSubstr("ait.full " + text)) << Name(dtype);
  }
}

TEST(ImportTrace, LocationsNameScopeLineAndPosition) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {4});
  maker.Output(maker.Call("aten::relu", {{"self", x}}, kF32, {4}));
  mlir::MLIRContext context;
  auto module = ImportTrace(maker.trace(), context, nullptr);
  ASSERT_TRUE(module.ok());
  (*module)->walk([&](mlir::ait::ReluOp op) {
    std::string text;
    llvm::raw_string_ostream(text) << op.getLoc();
    EXPECT_THAT(text, HasSubstr("\"layer/aten::relu\"(\"model.py\":10:0)"));
    EXPECT_THAT(TraceOpsOfLocation(op.getLoc()), ::testing::ElementsAre(0));
    EXPECT_THAT(TraceOpsOfLocation(
                    mlir::FusedLoc::get(&context, {op.getLoc(), op.getLoc()})),
                ::testing::ElementsAre(0));
  });
  EXPECT_TRUE(TraceOpsOfLocation(mlir::UnknownLoc::get(&context)).empty());
}

TEST(ImportTrace, AnUnknownOperatorFallsBackWithItsReason) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {4});
  ValueId weight = maker.Weight(kF32, {4});
  maker.Output(
      maker.Call("custom::op.variant",
                 {{"x", x}, {"w", weight}, {"xs", std::vector<ValueId>{x, -1}}},
                 kF32, {4}));
  EXPECT_THAT(
      maker.Import(),
      HasSubstr(
          "%0 = ait.fallback %arg0 {input_values = array<i64: 0>, "
          "operators = [\"custom::op.variant\"], output_values = array<i64: "
          "2>, "
          "reasons = [\"the importer has no builder for custom::op\"], "
          "trace_ops = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>"));
  ASSERT_EQ(maker.report().fallbacks.size(), 1);
  EXPECT_EQ(maker.report().fallbacks[0].op, "custom::op.variant");
  EXPECT_EQ(maker.report().fallbacks[0].location, "model.py:10");
  EXPECT_EQ(maker.report().fallbacks[0].scope, "layer");
  EXPECT_EQ(maker.report().imported, 0);
}

TEST(ImportTrace, LibTorchRepeatsRowsAndFillsTensorsForItsOperators) {
  TraceMaker maker;
  const ValueId x = maker.Input(kF32, {4, 3}),
                i = maker.Input(DataType::kInt64, {4, 1}),
                zeros =
                    maker.Call("aten::zeros_like", {{"self", x}}, kF32, {4, 3}),
                rows =
                    maker.Call("aten::expand_as", {{"self", i}, {"other", x}},
                               DataType::kInt64, {4, 3});
  maker.Output(maker.Call("aten::scatter_add",
                          {{"self", zeros},
                           {"dim", SizeExpression(0)},
                           {"index", rows},
                           {"src", x}},
                          kF32, {4, 3}));
  maker.trace().ops[2].must_fall_back = "so";
  EXPECT_THAT(maker.Import(),
              HasSubstr("ait.fallback %arg0, %arg1 {input_values = array<i64: "
                        "0, 1>, operators = [\"aten::zeros_like\", "
                        "\"aten::expand_as\", \"aten::scatter_add\"]"));
  EXPECT_EQ(maker.report().fallbacks.size(), 1);
}

TEST(ImportTrace, TensorsThatGiveSizesAloneAreNotMadeForLibTorch) {
  TraceMaker maker;
  const ValueId x = maker.Input(kF32, {4}),
                y = maker.Call("aten::relu", {{"self", x}}, kF32, {4}),
                rows = maker.Call("aten::expand_as",
                                  {{"self", x}, {"other", y}}, kF32, {4});
  maker.Output(maker.Call("custom::op", {{"x", rows}}, kF32, {4}));
  EXPECT_THAT(maker.Import(), HasSubstr("operators = [\"custom::op\"]"));
}

TEST(ImportTrace, AFallbackGivesTheResultsThatAreRead) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {4});
  const std::vector<ValueId> results =
      maker.Call("custom::op", {{"x", x}},
                 {{kF32, {4}}, {DataType::kInt64, {0}}, {kF32, {2}}});
  maker.Output(results[2]);
  EXPECT_THAT(maker.Import(),
              AllOf(HasSubstr("output_values = array<i64: 3>"),
                    HasSubstr("(tensor<4xf32>) -> tensor<2xf32>")));
}

TEST(ImportTrace, TheTraceAndTheCallerCanAskForLibTorch) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {4});
  ValueId y = maker.Call("aten::relu", {{"self", x}}, kF32, {4});
  maker.trace().ops[0].must_fall_back = "it is inside a loop over data";
  maker.Output(maker.Call("aten::relu", {{"self", y}}, kF32, {4}));
  maker.Import();
  EXPECT_EQ(maker.Reason(), "it is inside a loop over data");
  mlir::MLIRContext context;
  ImportReport report;
  ImportOptions options;
  options.libtorch_ops[1] = "no code generator takes it";
  ASSERT_TRUE(ImportTrace(maker.trace(), context, &report, options).ok());
  ASSERT_EQ(report.fallbacks.size(), 2);
  EXPECT_EQ(report.fallbacks[1].reason, "no code generator takes it");
}

// ATen's kernels for a GPU multiply by a sixth that is a float.
TEST(ImportTrace, HardGatesInFloat64AreThoseOfTheDevice) {
  for (const std::string name : {"hardswish", "hardsigmoid"}) {
    TraceMaker maker;
    ValueId x = maker.Input(DataType::kFloat64, {4});
    maker.Output(
        maker.Call("aten::" + name, {{"self", x}}, DataType::kFloat64, {4}));
    for (const bool is_for_gpu : {false, true}) {
      mlir::MLIRContext context;
      ImportOptions options;
      options.is_for_gpu = is_for_gpu;
      auto module = ImportTrace(maker.trace(), context, nullptr, options);
      ASSERT_TRUE(module.ok()) << module.status();
      std::string text;
      llvm::raw_string_ostream(text) << **module;
      EXPECT_THAT(text,
                  HasSubstr(is_for_gpu ? "1666666716337204" : "ait." + name));
    }
  }
}

TEST(ImportTrace, OpaqueValuesPassBetweenFallbacks) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {4});
  ValueId indices =
      maker.Call("aten::nonzero", {{"self", x}}, DataType::kInt64, {0});
  maker.MakeOpaque(indices, "its size depends on data");
  maker.Output(maker.Call("aten::relu", {{"self", indices}}, kF32, {4}));
  EXPECT_THAT(maker.Import(), HasSubstr("(!ait.opaque) -> tensor<4xf32>"));
  ASSERT_EQ(maker.report().fallbacks.size(), 2);
  EXPECT_THAT(maker.report().fallbacks[1].reason,
              HasSubstr("its size depends on data"));
}

TEST(ImportTrace, ARejectedCallLeavesNothingBehind) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {4});
  // The product is made before the result's sizes turn out wrong.
  maker.Output(
      maker.Call("aten::mul.Tensor", {{"self", x}, {"other", 2.0}}, kF32, {5}));
  std::string text = maker.Import();
  EXPECT_THAT(text, Not(HasSubstr("ait.mul")));
  EXPECT_THAT(text, HasSubstr("ait.fallback"));
  EXPECT_EQ(
      maker.Reason(),
      "the importer computes a result of sizes [4] where the trace saw [5]");
}

TEST(ImportTrace, SizesThatDontBroadcastAreRejected) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {4}), y = maker.Input(kF32, {3});
  maker.Output(
      maker.Call("aten::mul.Tensor", {{"self", x}, {"other", y}}, kF32, {4}));
  maker.Import();
  EXPECT_EQ(maker.Reason(), "sizes [4] and [3] don't broadcast");
}

TEST(ImportTrace, ResultsThatACallLeftUndefinedAreNotThere) {
  auto import = [](const std::string& name) {
    TraceMaker maker;
    ValueId x = maker.Input(kF32, {2, 3});
    std::vector<ValueId> results = maker.Call(
        name, {{"self", x}, {"dim", SizeExpression(1)}, {"keepdim", false}},
        {{kF32, {2}}, {DataType::kInt64, {2}}});
    maker.Output(results[0]);
    maker.trace().ops[0].results[1] = -1;
    return maker.Import();
  };
  EXPECT_THAT(import("aten::max.dim"), Not(HasSubstr("ait.argmax")));
  EXPECT_THAT(import("custom::max"),
              HasSubstr("output_values = array<i64: 1>"));
}

TEST(ImportTrace, ACallWithoutResultsFallsBack) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {4});
  maker.Call("aten::relu", {{"self", x}}, std::vector<TraceMaker::Result>{});
  maker.Output(x);
  maker.Import();
  EXPECT_EQ(maker.Reason(), "the call has no results");
}

TEST(ImportTrace, TracesThatContradictThemselvesAreErrors) {
  auto broken = [](void (*breaking)(Trace&)) {
    TraceMaker maker;
    ValueId x = maker.Input(kF32, {4});
    ValueId weight = maker.Weight(kF32, {4});
    maker.Output(maker.Call("aten::mul.Tensor",
                            {{"self", x}, {"other", weight}}, kF32, {4}));
    breaking(maker.trace());
    return maker.Import();
  };
  EXPECT_THAT(
      broken([](Trace& trace) { trace.ops[0].arguments[0] = ValueId{99}; }),
      HasSubstr("value 99 of call 0 (aten::mul.Tensor) doesn't exist"));
  EXPECT_THAT(
      broken([](Trace& trace) { trace.ops[0].arguments[0] = ValueId{2}; }),
      HasSubstr(
          "call 0 (aten::mul.Tensor) reads value 2 before it is produced"));
  EXPECT_THAT(broken([](Trace& trace) { trace.outputs = {-1}; }),
              HasSubstr("value -1 of the outputs doesn't exist"));
  EXPECT_THAT(broken([](Trace& trace) { trace.ops.clear(); }),
              HasSubstr("output value 2 is never produced"));
  EXPECT_THAT(broken([](Trace& trace) { trace.ops.push_back(trace.ops[0]); }),
              HasSubstr("value 2 is produced twice"));
  EXPECT_THAT(broken([](Trace& trace) { trace.values[1].constant = 7; }),
              HasSubstr("constant 7, which doesn't exist"));
  EXPECT_THAT(broken([](Trace& trace) { trace.values[1].type.sizes = {5}; }),
              HasSubstr("differ in type"));
  EXPECT_THAT(broken([](Trace& trace) { trace.values[2].type.sizes = {-4}; }),
              HasSubstr("negative size"));
  EXPECT_THAT(broken([](Trace& trace) {
                trace.values[2].type.sizes = {SizeExpression::Symbol(3)};
              }),
              HasSubstr("symbol s3 of value 2 doesn't exist"));
  EXPECT_THAT(
      broken([](Trace& trace) { trace.ops[0].argument_names.pop_back(); }),
      HasSubstr("2 arguments and 1 names"));
  EXPECT_THAT(
      broken([](Trace& trace) { trace.symbols.push_back({"s0", 5, 2, 0, 0}); }),
      HasSubstr("ranges from 5 to 2"));
}

TEST(SupportedOperators, AreSortedSchemaNames) {
  std::vector<std::string> names = SupportedOperators();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_THAT(names, ::testing::IsSupersetOf(
                         {"aten::add", "aten::lstm", "prim::NumToTensor"}));
  EXPECT_GT(names.size(), 250);
}

}  // namespace
}  // namespace aitune::frontend
