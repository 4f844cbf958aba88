// Kernels against a LibTorch that takes a given time.
#include <chrono>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/Compiler.h"
#include "compiler/driver/LibTorchExchange.h"
#include "compiler/driver/LibTorchRace.h"
#include "compiler/driver/OperatorGroups.h"
#include "compiler/pipelines/Pipelines.h"
#include "mlir/Parser/Parser.h"
#include "runtime/executable/fallback_region.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

namespace aitune {
namespace {

// In the models below a product sums DEPTH numbers. What is to be left to
// LibTorch must be most of a model, or the whole model's time beside other
// processes does not tell.
constexpr int kShallow = 8, kDeep = 1024;

/// A product with its bias (calls 0 and 1 of the trace) and a softmax (call 2).
constexpr char kModel[] = R"(
func.func @main(%x: tensor<2048xDEPTHxf32>) -> tensor<2048x512xf32> {
  %w = ait.constant 0 : tensor<DEPTHx512xf32>
  %0 = ait.matmul %x, %w : (tensor<2048xDEPTHxf32>, tensor<DEPTHx512xf32>) -> tensor<2048x512xf32> loc(fused<0 : i64>["matmul"])
  %1 = ait.relu %0 : tensor<2048x512xf32> loc(fused<1 : i64>["relu"])
  %2 = ait.softmax %1 {dim = 1 : i64} : tensor<2048x512xf32> -> tensor<2048x512xf32> loc(fused<2 : i64>["softmax"])
  return %2 : tensor<2048x512xf32>
})";

constexpr char kWithoutSoftmax[] = R"(
func.func @main(%x: tensor<2048xDEPTHxf32>) -> tensor<2048x512xf32> {
  %w = ait.constant 0 : tensor<DEPTHx512xf32>
  %0 = ait.matmul %x, %w : (tensor<2048xDEPTHxf32>, tensor<DEPTHx512xf32>) -> tensor<2048x512xf32> loc(fused<0 : i64>["matmul"])
  %1 = ait.relu %0 : tensor<2048x512xf32> loc(fused<1 : i64>["relu"])
  %2 = ait.fallback %1 {trace_ops = array<i64: 2>, operators = ["aten::softmax"], reasons = ["faster"], input_values = array<i64: 1>, output_values = array<i64: 2>} : (tensor<2048x512xf32>) -> tensor<2048x512xf32>
  return %2 : tensor<2048x512xf32>
})";

/// `model` with a second result, a list that LibTorch makes (call 3).
std::string withList(std::string model) {
  const std::string type = "-> tensor<2048x512xf32> {",
                    result = "  return %2 : tensor<2048x512xf32>";
  model.replace(model.find(type), type.size(),
                "-> (tensor<2048x512xf32>, !ait.opaque) {");
  model.replace(
      model.find(result), result.size(),
      R"(  %3 = ait.fallback %x {trace_ops = array<i64: 3>, operators = ["prim::ListConstruct"], reasons = ["a list"], input_values = array<i64: 0>, output_values = array<i64: 3>} : (tensor<2048xDEPTHxf32>) -> !ait.opaque
  return %2, %3 : tensor<2048x512xf32>, !ait.opaque)");
  return model;
}

constexpr char kWithoutMatmul[] = R"(
func.func @main(%x: tensor<2048xDEPTHxf32>) -> tensor<2048x512xf32> {
  %0 = ait.fallback %x {trace_ops = array<i64: 0>, operators = ["aten::matmul"], reasons = ["faster"], input_values = array<i64: 0>, output_values = array<i64: 1>} : (tensor<2048xDEPTHxf32>) -> tensor<2048x512xf32>
  %1 = ait.relu %0 : tensor<2048x512xf32> loc(fused<1 : i64>["relu"])
  %2 = ait.softmax %1 {dim = 1 : i64} : tensor<2048x512xf32> -> tensor<2048x512xf32> loc(fused<2 : i64>["softmax"])
  return %2 : tensor<2048x512xf32>
})";

constexpr char kWithoutRecurrence[] = R"(
func.func @main(%x: tensor<2048x512xf32>) -> tensor<2048x512xf32> {
  %0 = ait.fallback %x {trace_ops = array<i64: 0>, operators = ["aten::lstm"], reasons = ["faster"], input_values = array<i64: 0>, output_values = array<i64: 1>} : (tensor<2048x512xf32>) -> tensor<2048x512xf32>
  return %0 : tensor<2048x512xf32>
})";

/// Computes nothing, for some time.
class Waits : public FallbackRegion {
public:
  explicit Waits(double microseconds) : microseconds(microseconds) {}
  absl::Status Run(absl::Span<const RegionValue>, absl::Span<const int64_t>,
                   absl::Span<RegionValue>) const override {
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::duration<double, std::micro>(
               std::chrono::steady_clock::now() - start)
               .count() < microseconds) {
    }
    return absl::OkStatus();
  }

private:
  const double microseconds;
};

/// A part that gives `rows` x 512 numbers; it reads as many, or the model's
/// input of `rows` x `depth` if the product (call 0) is in it.
LibTorchPart makePart(absl::Span<const int64_t> ops, double microseconds,
                      int rows, int depth) {
  LibTorchPart part;
  part.traceOps.assign(ops.begin(), ops.end());
  TensorTypeProto input, output;
  for (TensorTypeProto *type : {&input, &output}) {
    type->set_dtype(static_cast<int>(DataType::kFloat32));
    type->add_sizes()->set_value(rows);
  }
  input.add_sizes()->set_value(ops.front() == 0 ? depth : 512);
  output.add_sizes()->set_value(512);
  Step &step = *part.plan.add_steps();
  step.set_name("libtorch");
  step.mutable_fallback()->set_region(0);
  for (auto storage : {ValueProto::INPUT, ValueProto::OUTPUT}) {
    ValueProto &value = *part.plan.add_values();
    value.set_storage(storage);
    *value.mutable_type() = storage == ValueProto::INPUT ? input : output;
  }
  step.add_inputs(0);
  step.add_outputs(1);
  *part.plan.add_inputs() = input;
  *part.plan.add_outputs() = output;
  part.plan.add_output_values(1);
  part.makeRegion = [microseconds] {
    return std::make_unique<Waits>(microseconds);
  };
  return part;
}

class LibTorchRaceTest : public testing::Test {
protected:
  LibTorchRaceTest() {
    registerCompilerDialects(dialects);
    weights.assign(kDeep * 512, 0.01f);
  }

  /// Compiles the model; LibTorch needs `times[ops]` microseconds for calls of
  /// the trace, and has no part for others. With the calls in `expected`, the
  /// model is imported again as `again`.
  CompileResult build(std::map<std::vector<int64_t>, double> times,
                      const std::string &again = "",
                      double regionMicroseconds = 1,
                      const std::string &model = kModel, int depth = kShallow) {
    MLIRContext context(dialects);
    auto parse = [&](const std::string &text) {
      return parseSourceString<ModuleOp>(
          absl::StrReplaceAll(text, {{"DEPTH", absl::StrCat(depth)},
                                     {"2048", absl::StrCat(rows)}}),
          &context);
    };
    auto module = parse(model);
    EXPECT_TRUE(module);
    CompileOptions options;
    options.libtorch.makePart =
        [&](absl::Span<const int64_t> ops,
            const std::set<int64_t> &others) -> absl::StatusOr<LibTorchPart> {
      for (int64_t op : ops)
        EXPECT_EQ(others.count(op), 0u);
      auto found = times.find({ops.begin(), ops.end()});
      if (found == times.end())
        return absl::UnimplementedError("made up to be none");
      return makePart(ops, found->second, rows, depth);
    };
    options.libtorch.leastSeconds = 60;
    OwningOpRef<ModuleOp> second;
    options.libtorch.importAgain =
        [&](const std::map<int64_t, std::string> &reasons)
        -> absl::StatusOr<ModuleOp> {
      for (const auto &[op, reason] : reasons) {
        left.push_back(op);
        EXPECT_THAT(reason, HasSubstr("LibTorch is faster: "));
      }
      second = parse(again);
      return *second;
    };
    options.libtorch.makeRegions = [&](ModuleOp of) {
      std::vector<std::unique_ptr<FallbackRegion>> regions;
      of.walk([&](ait::FallbackOp) {
        regions.push_back(std::make_unique<Waits>(regionMicroseconds));
      });
      return regions;
    };
    const std::vector<ConstantTensor> constants = {
        {{weights.data(), DataType::kFloat32, {depth, 512}}, nullptr, "w"}};
    absl::StatusOr<CompileResult> result = compile(*module, constants, options);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *std::move(result) : CompileResult();
  }

  static int fallbacks(const CompileResult &result) {
    return llvm::count_if(result.plan.steps(),
                          [](const Step &step) { return step.has_fallback(); });
  }

  DialectRegistry dialects;
  int rows = 2048; ///< rows of the models' tensors
  std::vector<float> weights;
  std::vector<int64_t> left; ///< calls that were imported as LibTorch's
};

TEST_F(LibTorchRaceTest, LeavesTheFasterOnesToLibTorch) {
  const CompileCounts before = compileCounts();
  const CompileResult result =
      build({{{0, 1}, 1e5}, {{0}, 1e5}, {{2}, 1}}, kWithoutSoftmax);
  EXPECT_THAT(left, ElementsAre(2));
  ASSERT_THAT(result.libtorchWins, SizeIs(1));
  const LibTorchWin &win = result.libtorchWins[0];
  EXPECT_THAT(win.kernels, HasSubstr("softmax"));
  EXPECT_THAT(win.traceOps, ElementsAre(2));
  EXPECT_EQ(win.times, 1);
  EXPECT_LT(win.libtorchMicroseconds, win.microseconds);
  EXPECT_GT(win.share, 0);
  EXPECT_LE(win.share, 1);
  EXPECT_EQ(fallbacks(result), 1);
  EXPECT_THAT(result.candidates, Contains(Field(&CandidateResult::candidate,
                                                "with LibTorch's operators")));
  // The product's kernel was neither generated nor measured again.
  EXPECT_EQ(compileCounts().graphs - before.graphs, 1);
  EXPECT_EQ(compileCounts().measurements - before.measurements, 1);
}

TEST_F(LibTorchRaceTest, KeepsFasterKernels) {
  const CompileResult result = build({{{0, 1}, 1e5}, {{0}, 1e5}, {{2}, 1e5}});
  EXPECT_THAT(left, IsEmpty());
  EXPECT_THAT(result.libtorchWins, IsEmpty());
  EXPECT_EQ(fallbacks(result), 0);
  EXPECT_THAT(result.candidates,
              Contains(Field(&CandidateResult::candidate, "LibTorch")));
}

TEST_F(LibTorchRaceTest, TheWholeModelDecides) {
  const CompileResult result =
      build({{{0, 1}, 1e5}, {{2}, 1}}, kWithoutSoftmax, 1e5);
  EXPECT_THAT(left, ElementsAre(2));
  EXPECT_THAT(result.libtorchWins, IsEmpty());
  EXPECT_EQ(fallbacks(result), 0);
  EXPECT_THAT(
      result.rejections,
      Contains(Field(&Rejection::reason, HasSubstr("the whole model takes "))));
}

TEST_F(LibTorchRaceTest, AModelWithAListAsAResultIsTimed) {
  const CompileResult result =
      build({{{0, 1}, 1e5}, {{2}, 1}}, withList(kWithoutSoftmax), 1,
            withList(kModel));
  EXPECT_THAT(left, ElementsAre(2));
  EXPECT_THAT(result.libtorchWins, SizeIs(1));
  EXPECT_THAT(
      result.candidates,
      Contains(
          AllOf(Field(&CandidateResult::candidate, "with LibTorch's operators"),
                Field(&CandidateResult::microseconds, testing::Gt(0)))));
}

TEST_F(LibTorchRaceTest, LeavesTheCostlyPartAlone) {
  const CompileResult result =
      build({{{0}, 1}, {{2}, 1e5}}, kWithoutMatmul, 1, kModel, kDeep);
  EXPECT_THAT(left, ElementsAre(0));
  ASSERT_THAT(result.libtorchWins, SizeIs(1));
  EXPECT_THAT(result.libtorchWins[0].traceOps, ElementsAre(0));
}

/// A recurrent layer (call 0): a product a step.
std::string recurrence(int steps) {
  const std::string type = "tensor<2048x512xf32>";
  std::string text = absl::StrCat("func.func @main(%v0: ", type, ") -> ", type,
                                  "{\n  %w = ait.constant 0 : "
                                  "tensor<DEPTHx512xf32>\n");
  for (int step = 0; step < steps; ++step)
    absl::StrAppend(&text, "  %v", step + 1, " = ait.matmul %v", step,
                    ", %w : (", type, ", tensor<DEPTHx512xf32>) -> ", type,
                    " loc(fused<0 : i64>[\"lstm\"])\n");
  return absl::StrCat(text, "  return %v", steps, " : ", type, "\n}");
}

TEST_F(LibTorchRaceTest, ManyLaunchesOfOneKernelAreMeasuredAsOne) {
  rows = 16;
  const CompileCounts before = compileCounts();
  const CompileResult result =
      build({{{0}, 1}}, kWithoutRecurrence, 1, recurrence(100), 512);
  EXPECT_THAT(left, ElementsAre(0));
  ASSERT_THAT(result.libtorchWins, SizeIs(1));
  EXPECT_THAT(result.libtorchWins[0].kernels, StartsWith("100 x matmul"));
  EXPECT_EQ(result.libtorchWins[0].times, 1);
  EXPECT_EQ(fallbacks(result), 1);
  EXPECT_EQ(compileCounts().kernels - before.kernels, 1);
}

TEST(LibTorchWins, SaveTheirShareOfTheirTime) {
  LibTorchWin half, most;
  half.share = 0.2, half.microseconds = 100, half.libtorchMicroseconds = 50;
  most.share = 0.04, most.microseconds = 8, most.libtorchMicroseconds = 2;
  EXPECT_EQ(savedShare({}), 0);
  EXPECT_DOUBLE_EQ(savedShare({half, most}), 0.13);
}

TEST_F(LibTorchRaceTest, WhatIsNoPartStays) {
  const CompileResult result = build({});
  EXPECT_THAT(left, IsEmpty());
  EXPECT_THAT(result.rejections,
              Contains(Field(&Rejection::reason, "made up to be none")));
}

/// A fused module: one operator (call 4) in two kernels, and a copy of its
/// operand's producer (call 3).
constexpr char kFused[] = R"(
module {
  func.func private @mean_0(%x: tensor<4x8xf32>) -> tensor<4x1xf32> attributes {ait.kind = #ait.kind<loop>} {
    %0 = ait.mean %x {dims = array<i64: 1>} : tensor<4x8xf32> -> tensor<4x1xf32> loc(fused<4 : i64>["norm"])
    return %0 : tensor<4x1xf32>
  }
  func.func private @sub_0(%x: tensor<4x8xf32>, %m: tensor<4x1xf32>) -> tensor<4x8xf32> attributes {ait.kind = #ait.kind<loop>} {
    %0 = ait.expand %m {sizes = affine_map<() -> (4, 8)>} : tensor<4x1xf32> -> tensor<4x8xf32> loc(fused<4 : i64>["norm"])
    %1 = ait.sub %x, %0 : tensor<4x8xf32> loc(fused<4 : i64>["norm"])
    return %1 : tensor<4x8xf32>
  }
  func.func private @relu_0(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {ait.kind = #ait.kind<loop>} {
    %0 = ait.relu %x : tensor<4x8xf32> loc(fused<7 : i64>["relu"])
    return %0 : tensor<4x8xf32> loc(fused[fused<7 : i64>["relu"]])
  }
  func.func @main(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
    %0 = ait.launch @mean_0(%x) : (tensor<4x8xf32>) -> tensor<4x1xf32> loc(fused[fused<4 : i64>["norm"]])
    %1 = ait.launch @sub_0(%x, %0) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32> loc(fused[fused<4 : i64>["norm"]])
    %2 = ait.launch @relu_0(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32> loc(fused[fused<7 : i64>["relu"]])
    %3 = ait.launch @relu_0(%2) : (tensor<4x8xf32>) -> tensor<4x8xf32> loc(fused[fused<9 : i64>["relu"]])
    return %2, %3 : tensor<4x8xf32>, tensor<4x8xf32>
  }
})";

TEST(OperatorGroups, KernelsOfOneOperatorAreTogether) {
  DialectRegistry dialects;
  registerCompilerDialects(dialects);
  MLIRContext context(dialects);
  auto module = parseSourceString<ModuleOp>(kFused, &context);
  ASSERT_TRUE(module);
  const std::vector<OperatorGroup> groups = groupByOperators(*module);
  ASSERT_THAT(groups, SizeIs(3));
  EXPECT_THAT(groups[0].launches, SizeIs(2));
  EXPECT_THAT(groups[0].traceOps, ElementsAre(4));
  EXPECT_THAT(groups[0].core, ElementsAre(4));
  EXPECT_THAT(groups[1].traceOps, ElementsAre(7));
  EXPECT_THAT(groups[1].core, IsEmpty());
  EXPECT_THAT(groups[2].traceOps, ElementsAre(9));
  EXPECT_EQ(groups[1].form, groups[2].form);
  EXPECT_NE(groups[0].form, groups[1].form);
}

Measurement took(double median, double least) {
  Measurement measurement;
  measurement.microseconds = median;
  measurement.least = least;
  return measurement;
}

TEST(LibTorchExchangeTest, IsFasterInMedianAndFastestRun) {
  EXPECT_TRUE(isWorthExchanging(took(100, 90), took(80, 70)));
  // The kernels were disturbed, or LibTorch was lucky once.
  EXPECT_FALSE(isWorthExchanging(took(200, 90), took(150, 140)));
  EXPECT_FALSE(isWorthExchanging(took(100, 90), took(110, 70)));
  EXPECT_FALSE(isWorthExchanging(took(100, 90), took(99, 89)));
  // The fastest run is not known on a GPU.
  EXPECT_TRUE(isWorthExchanging(took(100, -1), took(80, -1)));
}

TEST(LibTorchExchangeTest, AModelThatFailedIsNotFaster) {
  EXPECT_FALSE(isWorthExchanging(took(100, 90), Measurement()));
  EXPECT_TRUE(isWorthExchanging(Measurement(), took(100, 90)));
}

} // namespace
} // namespace aitune
