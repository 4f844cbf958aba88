// Kernels made wrong on purpose: found by the race or in the finished model,
// and replaced.
#include <cmath>
#include <filesystem>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/Compiler.h"
#include "compiler/candidates/CandidateChoice.h"
#include "compiler/candidates/CpuTarget.h"
#include "compiler/driver/testing/Faults.h"
#include "compiler/measure/HostTensor.h"
#include "compiler/measure/TestData.h"
#include "compiler/pipelines/Pipelines.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using testing::HasSubstr;
using testing::IsEmpty;

namespace aitune {
namespace {

constexpr char kLoop[] = R"(
func.func @main(%x: tensor<64x96xf32>) -> tensor<64x96xf32> {
  %0 = ait.sigmoid %x : tensor<64x96xf32>
  %1 = ait.relu %0 : tensor<64x96xf32>
  return %1 : tensor<64x96xf32>
})";

constexpr char kSoftmax[] = R"(
func.func @main(%x: tensor<64x96xf32>) -> tensor<64x96xf32> {
  %0 = ait.layer_norm %x {normalized_rank = 1 : i64, eps = 1.0e-5 : f64} : tensor<64x96xf32> -> tensor<64x96xf32>
  %1 = ait.gelu %0 : tensor<64x96xf32>
  %2 = ait.softmax %1 {dim = 1 : i64} : tensor<64x96xf32> -> tensor<64x96xf32>
  return %2 : tensor<64x96xf32>
})";

constexpr char kNegation[] = R"(
func.func @main(%x: tensor<64x96xf32>) -> tensor<64x96xf32> {
  %0 = ait.neg %x : tensor<64x96xf32>
  return %0 : tensor<64x96xf32>
})";

constexpr char kSquareMatmul[] = R"(
func.func @main(%x: tensor<64x96xf32>) -> tensor<64x96xf32> {
  %w = ait.constant 0 : tensor<96x96xf32>
  %0 = ait.matmul %x, %w : (tensor<64x96xf32>, tensor<96x96xf32>) -> tensor<64x96xf32>
  return %0 : tensor<64x96xf32>
})";

constexpr char kMatmul[] = R"(
func.func @main(%x: tensor<64x96xf32>) -> tensor<64x48xf32> {
  %w = ait.constant 0 : tensor<96x48xf32>
  %0 = ait.matmul %x, %w : (tensor<64x96xf32>, tensor<96x48xf32>) -> tensor<64x48xf32>
  %1 = ait.relu %0 : tensor<64x48xf32>
  return %1 : tensor<64x48xf32>
})";

constexpr char kConvolution[] = R"(
func.func @main(%x: tensor<1x8x20x20xf32>) -> tensor<1x16x20x20xf32> {
  %w = ait.constant 0 : tensor<16x8x3x3xf32>
  %0 = ait.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x8x20x20xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x20x20xf32>
  %1 = ait.relu %0 : tensor<1x16x20x20xf32>
  return %1 : tensor<1x16x20x20xf32>
})";

constexpr char kAttention[] = R"(
func.func @main(%q: tensor<2x4x32x16xf32>) -> tensor<2x4x32x16xf32> {
  %0 = ait.attention %q, %q, %q {scale = 0.25 : f64} : (tensor<2x4x32x16xf32>, tensor<2x4x32x16xf32>, tensor<2x4x32x16xf32>) -> tensor<2x4x32x16xf32>
  %1 = ait.relu %0 : tensor<2x4x32x16xf32>
  return %1 : tensor<2x4x32x16xf32>
})";

/// A tensor of normal numbers, aligned as models take it.
struct Numbers {
  explicit Numbers(std::vector<int64_t> sizes,
                   DataType dtype = DataType::kFloat32)
      : tensor({nullptr, dtype, std::move(sizes)}), view(tensor.view()) {
    std::mt19937 generator(7);
    fillRandom(view, generator);
  }
  HostTensor tensor;
  TensorView view;
};

class RepairTest : public testing::Test {
protected:
  RepairTest() { registerCompilerDialects(dialects); }
  ~RepairTest() override { removeFaults(); }

  /// Compiles `text`; the input has these sizes, the one constant those.
  CompileResult build(const std::string &text, bool measures,
                      std::vector<int64_t> inputSizes,
                      std::vector<int64_t> constantSizes = {},
                      const std::string &database = "",
                      DataType dtype = DataType::kFloat32) {
    MLIRContext context(dialects);
    auto module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    Numbers input(inputSizes, dtype), weights(constantSizes, dtype);
    std::vector<ConstantTensor> constants;
    if (!constantSizes.empty())
      constants.push_back({weights.view, nullptr, "w"});
    CompileOptions options;
    options.measureCandidates = measures;
    options.tuning.database = database;
    // Else the race is to find it.
    if (!measures)
      options.audit.inputs = {input.view};
    absl::StatusOr<CompileResult> result = compile(*module, constants, options);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *std::move(result) : CompileResult();
  }

  DialectRegistry dialects;
};

void expectReplaced(const CompileResult &result, const std::string &candidate,
                    const std::string &replacement) {
  ASSERT_THAT(result.wrong, testing::SizeIs(testing::Ge(1u)));
  for (const WrongCandidate &wrong : result.wrong) {
    EXPECT_THAT(wrong.candidate, HasSubstr(candidate));
    EXPECT_THAT(wrong.replacement, HasSubstr(replacement));
    EXPECT_FALSE(wrong.reason.empty());
  }
  EXPECT_EQ(result.failures.empty(), replacement != "LibTorch");
}

/// Both ways of finding it: in the race of candidates, and where nothing was
/// measured, in the model.
class RepairEitherWayTest : public RepairTest,
                            public testing::WithParamInterface<bool> {};

TEST_P(RepairEitherWayTest, NothingIsWrong) {
  const std::pair<const char *, DataType> types[] = {
      {"f32", DataType::kFloat32},
      {"f64", DataType::kFloat64},
      {"f16", DataType::kFloat16},
      {"bf16", DataType::kBFloat16}};
  for (const auto &type : types) {
    const std::string element = absl::StrCat("x", type.first);
    SCOPED_TRACE(element);
    auto buildAs = [&](const char *text, std::vector<int64_t> input,
                       std::vector<int64_t> constant) {
      return build(absl::StrReplaceAll(text, {{"xf32", element}}), GetParam(),
                   std::move(input), std::move(constant), "", type.second);
    };
    for (const CompileResult &result :
         {buildAs(kLoop, {64, 96}, {}), buildAs(kMatmul, {64, 96}, {96, 48}),
          buildAs(kConvolution, {1, 8, 20, 20}, {16, 8, 3, 3}),
          buildAs(kSoftmax, {64, 96}, {}),
          // Attention has no code for f64.
          type.second == DataType::kFloat64
              ? buildAs(kLoop, {64, 96}, {})
              : buildAs(kAttention, {2, 4, 32, 16}, {})}) {
      for (const WrongCandidate &wrong : result.wrong)
        ADD_FAILURE() << wrong.kernel << ", " << wrong.candidate << ": "
                      << wrong.reason;
      EXPECT_THAT(result.failures, IsEmpty());
      EXPECT_GT(result.plan.steps_size(), 0);
      for (const Rejection &rejection : result.rejections) {
        EXPECT_NE(rejection.phase, "audit") << rejection.reason;
        EXPECT_NE(rejection.phase, "reference") << rejection.reason;
      }
    }
  }
}

TEST_P(RepairEitherWayTest, ALoopThatOnlyLibTorchCanReplace) {
  plantWrongCode("ait.sigmoid", "ait.tanh");
  expectReplaced(build(kLoop, GetParam(), {64, 96}), "generated", "LibTorch");
}

TEST_P(RepairEitherWayTest, AMatmulThatALibraryReplaces) {
  plantWrongCode("ait.relu", "ait.neg");
  expectReplaced(build(kMatmul, GetParam(), {64, 96}, {96, 48}), "generated",
                 "onednn");
}

TEST_P(RepairEitherWayTest, AConvolutionThatALibraryReplaces) {
  plantWrongCode("ait.relu", "ait.neg");
  expectReplaced(build(kConvolution, GetParam(), {1, 8, 20, 20}, {16, 8, 3, 3}),
                 "generated", "onednn");
}

TEST_P(RepairEitherWayTest, AnAttention) {
  plantWrongCode("scale = 2.500000e-01", "scale = 5.000000e-01");
  expectReplaced(build(kAttention, GetParam(), {2, 4, 32, 16}), "generated",
                 "LibTorch");
}

TEST_P(RepairEitherWayTest, WhatIsWrongFromTheSecondCallOn) {
  plantLaterCalls(6144);
  const CompileResult result = build(kNegation, GetParam(), {64, 96});
  expectReplaced(result, "generated", "LibTorch");
  ASSERT_FALSE(result.wrong.empty());
  EXPECT_THAT(result.wrong[0].reason, HasSubstr("in a second run"));
}

INSTANTIATE_TEST_SUITE_P(Ways, RepairEitherWayTest, testing::Bool(),
                         [](const auto &way) {
                           return way.param ? "Race" : "Model";
                         });

TEST_F(RepairTest, ALibraryThatTheGeneratedCodeReplaces) {
  plantTransposedLibraries();
  const CompileResult result = build(kSquareMatmul, true, {64, 96}, {96, 96});
  expectReplaced(result, "onednn", "generated");
  EXPECT_TRUE(result.plan.steps(0).has_kernel());
}

TEST_F(RepairTest, WhatWasWrongIsNotTriedAgain) {
  const std::string database =
      std::filesystem::path(testing::TempDir()) / "repair_test.db";
  std::filesystem::remove(database);
  plantWrongCode("ait.relu", "ait.neg");
  expectReplaced(build(kMatmul, true, {64, 96}, {96, 48}, database),
                 "generated", "onednn");
  // Not measured and not looked through: the database alone knows.
  MLIRContext context(dialects);
  auto module = parseSourceString<ModuleOp>(kMatmul, &context);
  Numbers weights({96, 48});
  CompileOptions options;
  options.measureCandidates = false;
  options.tuning.database = database;
  absl::StatusOr<CompileResult> again =
      compile(*module, {ConstantTensor{weights.view, nullptr, "w"}}, options);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(llvm::any_of(again->plan.steps(),
                           [](const Step &step) { return step.has_matmul(); }));
  EXPECT_TRUE(llvm::any_of(again->rejections, [](const Rejection &rejection) {
    return rejection.phase == "reference";
  }));
}

TEST_F(RepairTest, AKernelThatWritesBesideItsResult) {
  plantStrayWrite(6144);
  const CompileResult result = build(kNegation, false, {64, 96});
  expectReplaced(result, "generated", "LibTorch");
  ASSERT_FALSE(result.wrong.empty());
  EXPECT_THAT(result.wrong[0].reason, HasSubstr("writes beside its result"));
}

TEST_F(RepairTest, WhatABuildFoundWrongTheNextLeavesOut) {
  plantWrongCode("ait.relu", "ait.neg");
  const CompileResult first = build(kMatmul, false, {64, 96}, {96, 48});
  expectReplaced(first, "generated", "onednn");
  removeFaults();
  // Under another name, and not looked through.
  MLIRContext context(dialects);
  auto module = parseSourceString<ModuleOp>(
      absl::StrReplaceAll(
          kMatmul, {{"%0 = ait.matmul", "%r = ait.relu %x : tensor<64x96xf32>\n"
                                        "%n = ait.exp %r : tensor<64x96xf32>\n"
                                        "%0 = ait.matmul"},
                    {"return %1 : tensor<64x48xf32>",
                     "return %1, %n : tensor<64x48xf32>, "
                     "tensor<64x96xf32>"},
                    {"-> tensor<64x48xf32> {", "-> (tensor<64x48xf32>, "
                                               "tensor<64x96xf32>) {"}}),
      &context);
  ASSERT_TRUE(module);
  Numbers weights({96, 48});
  CompileOptions options;
  options.measureCandidates = false;
  options.leftOut = first.wrong;
  absl::StatusOr<CompileResult> again =
      compile(*module, {ConstantTensor{weights.view, nullptr, "w"}}, options);
  ASSERT_TRUE(again.ok()) << again.status();
  expectReplaced(*again, "generated", "onednn");
}

TEST_F(RepairTest, WhatLibTorchReplacedIsNotTriedAgain) {
  const std::string database =
      std::filesystem::path(testing::TempDir()) / "repair_libtorch_test.db";
  std::filesystem::remove(database);
  plantWrongCode("ait.sigmoid", "ait.tanh");
  expectReplaced(build(kLoop, true, {64, 96}, {}, database), "generated",
                 "LibTorch");
  MLIRContext context(dialects);
  auto module = parseSourceString<ModuleOp>(kLoop, &context);
  CompileOptions options;
  options.measureCandidates = false;
  options.tuning.database = database;
  absl::StatusOr<CompileResult> again = compile(*module, {}, options);
  ASSERT_TRUE(again.ok()) << again.status();
  ASSERT_EQ(again->failures.size(), 1u);
  EXPECT_THAT(again->failures[0].reason, HasSubstr("was found wrong"));
}

} // namespace
} // namespace aitune
