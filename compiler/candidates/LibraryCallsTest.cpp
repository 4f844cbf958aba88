#include "compiler/candidates/LibraryCalls.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/candidates/CudaLibraryRules.h"
#include "compiler/candidates/OnednnRules.h"
#include "compiler/dialect/KernelAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace aitune {
namespace {

class LibraryCallsTest : public ::testing::Test {
protected:
  LibraryCallsTest() {
    context.loadDialect<ait::AitDialect, func::FuncDialect>();
  }

  absl::StatusOr<LibraryMatch>
  match(const char *text, const LibraryRules &rules = OnednnRules()) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return matchLibraryCall(*module->getOps<func::FuncOp>().begin(), rules);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(LibraryCallsTest, BiasActivationAndResidualAreFused) {
  auto found = match(R"(
func.func private @k(%x: tensor<4x8xf32>, %r: tensor<4x16xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<4x16xf32> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = ait.expand %b : tensor<16xf32> -> tensor<4x16xf32>
  %2 = ait.add %0, %1 : tensor<4x16xf32>
  %3 = ait.gelu %2 : tensor<4x16xf32>
  %4 = ait.add %r, %3 : tensor<4x16xf32>
  return %4 : tensor<4x16xf32>
})");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(found->rest);
  EXPECT_THAT(found->arguments, ElementsAre(0, 2, 3, 1));
  const auto &postOps = found->call.matmul().post_ops();
  ASSERT_EQ(postOps.size(), 3);
  EXPECT_EQ(postOps[0].kind(), PostOp::BIAS);
  EXPECT_EQ(postOps[0].operand(), 2);
  EXPECT_EQ(postOps[1].kind(), PostOp::GELU_ERF);
  EXPECT_EQ(postOps[2].kind(), PostOp::ADD);
  EXPECT_EQ(postOps[2].operand(), 3);
}

TEST_F(LibraryCallsTest, WhatTheLibraryLacksBecomesALoopKernel) {
  auto found = match(R"(
func.func private @k(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = ait.gelu %0 : tensor<4x16xf32>
  %2 = ait.atan2 %1, %y : tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
})");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->call.matmul().post_ops_size(), 1);
  ASSERT_TRUE(found->rest);
  EXPECT_THAT(found->restArguments, ElementsAre(-1, 2));
  EXPECT_EQ(ait::getKernelKind(found->rest), ait::KernelKind::Loop);
  EXPECT_TRUE(succeeded(module->verify()));
}

// oneDNN's relu makes 0 of NaN.
TEST_F(LibraryCallsTest, ReluIsLeftToALoopKernel) {
  auto found = match(R"(
func.func private @k(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = ait.relu %0 : tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
})");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->call.matmul().post_ops_size(), 0);
  EXPECT_TRUE(found->rest);
}

TEST_F(LibraryCallsTest, AResultReadTwiceEndsTheFusion) {
  auto found = match(R"(
func.func private @k(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = ait.gelu %0 : tensor<4x16xf32>
  return %0, %1 : tensor<4x16xf32>, tensor<4x16xf32>
})");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->call.matmul().post_ops_size(), 0);
  EXPECT_TRUE(found->rest);
}

TEST_F(LibraryCallsTest, AComputedOperandIsRefusedWithAReason) {
  auto found = match(R"(
func.func private @k(%x: tensor<8x4xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.permute %x {permutation = array<i64: 1, 0>} : tensor<8x4xf32> -> tensor<4x8xf32>
  %1 = ait.matmul %0, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
})");
  EXPECT_EQ(found.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(found.status().message()),
              HasSubstr("computed in the kernel"));
}

constexpr char kIntegers[] = R"(
func.func private @k(%x: tensor<4x8xi32>, %w: tensor<8x16xi32>) -> tensor<4x16xi32> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %w : (tensor<4x8xi32>, tensor<8x16xi32>) -> tensor<4x16xi32>
  return %0 : tensor<4x16xi32>
})";

TEST_F(LibraryCallsTest, EachLibrarySaysItselfWhatItLacks) {
  EXPECT_EQ(match(kIntegers).status().message(),
            "oneDNN: contractions of f32, bf16 and f16 only, not of 'i32'");
  EXPECT_EQ(match(kIntegers, CublasLtRules(nullptr, false)).status().message(),
            "cuBLASLt: contractions of f32, bf16 and f16 only, not of 'i32'");
}

/// A product of 8-bit floats, times `factors`, and GELU.
std::string ofCodes(const char *factors) {
  return absl::StrCat(R"(
func.func private @k(%x: tensor<2x16x32xf8E4M3FN>, %rows: tensor<2x16x1xf32>, %w: tensor<48x32xf8E4M3FN>, %columns: tensor<48xf32>, %b: tensor<48xbf16>) -> tensor<2x16x48xbf16> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %w {transpose_rhs} : (tensor<2x16x32xf8E4M3FN>, tensor<48x32xf8E4M3FN>) -> tensor<2x16x48xf32>
  %1 = ait.expand %rows : tensor<2x16x1xf32> -> tensor<2x16x48xf32>
  %2 = ait.expand %columns : tensor<48xf32> -> tensor<2x16x48xf32>
)",
                      factors, R"(
  %5 = ait.convert %4 : tensor<2x16x48xf32> -> tensor<2x16x48xbf16>
  %6 = ait.expand %b : tensor<48xbf16> -> tensor<2x16x48xbf16>
  %7 = ait.add %5, %6 : tensor<2x16x48xbf16>
  %8 = ait.gelu %7 : tensor<2x16x48xbf16>
  return %8 : tensor<2x16x48xbf16>
})");
}

TEST_F(LibraryCallsTest, ScalesOfCodesAreAppliedBeforeTheSumsAreRounded) {
  const CublasLtRules rules(nullptr, false);
  auto found = match(ofCodes(R"(
  %3 = ait.mul %0, %1 : tensor<2x16x48xf32>
  %4 = ait.mul %2, %3 : tensor<2x16x48xf32>)")
                         .c_str(),
                     rules);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->arguments, ElementsAre(0, 2, 1, 3, 4));
  const auto &postOps = found->call.matmul().post_ops();
  ASSERT_EQ(postOps.size(), 3);
  EXPECT_EQ(postOps[0].kind(), PostOp::MULTIPLY);
  EXPECT_EQ(postOps[0].operand(), 2);
  EXPECT_EQ(postOps[1].kind(), PostOp::MULTIPLY);
  EXPECT_EQ(postOps[1].operand(), 3);
  EXPECT_EQ(postOps[2].kind(), PostOp::BIAS);
  EXPECT_TRUE(found->resultType.getElementType().isBF16());
  ASSERT_TRUE(found->rest);
  EXPECT_THAT(found->restArguments, ElementsAre(-1));
  EXPECT_TRUE(succeeded(module->verify()));
}

TEST_F(LibraryCallsTest, CodesWithoutScalesOfRowsAndColumnsAreRefused) {
  const CublasLtRules rules(nullptr, false);
  const std::string columnsAlone = ofCodes(R"(
  %4 = ait.mul %0, %2 : tensor<2x16x48xf32>)");
  EXPECT_THAT(
      std::string(match(columnsAlone.c_str(), rules).status().message()),
      HasSubstr("not followed by a scale for each row"));
  const std::string squared = ofCodes(R"(
  %3 = ait.mul %0, %0 : tensor<2x16x48xf32>
  %4 = ait.mul %3, %2 : tensor<2x16x48xf32>)");
  EXPECT_FALSE(match(squared.c_str(), rules).ok());
  EXPECT_THAT(std::string(match(columnsAlone.c_str()).status().message()),
              HasSubstr("not of 'f8E4M3FN'"));
}

// cuBLASLt has no exact GELU, oneDNN no relu that keeps NaN.
TEST_F(LibraryCallsTest, EachLibraryHasItsOwnPostOperations) {
  auto kernel = [](const char *activation) {
    return std::string(R"(
func.func private @k(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = ait.)") +
           activation + R"( %0 : tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
})";
  };
  const CublasLtRules cublaslt(nullptr, false);
  auto count = [&](const char *activation, const LibraryRules &rules) {
    auto found = match(kernel(activation).c_str(), rules);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? found->call.matmul().post_ops_size() : -1;
  };
  EXPECT_EQ(count("gelu", OnednnRules()), 1);
  EXPECT_EQ(count("gelu", cublaslt), 0);
  EXPECT_EQ(count("relu", OnednnRules()), 0);
  EXPECT_EQ(count("relu", cublaslt), 0);
}

// Packed once, at load or after what initialises the model, or for each call.
TEST_F(LibraryCallsTest, OnednnHasNoConvolutionWhoseFilterComesWithTheCall) {
  auto kernel = [](const char *known) {
    return std::string(R"(
func.func private @k(%x: tensor<1x8x8x16xf32>, %w: tensor<32x16x3x3xf32>)") +
           known +
           R"() -> tensor<1x8x8x32xf32> attributes {ait.kind = #ait.kind<convolution>} {
  %0 = ait.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, channels_last} : (tensor<1x8x8x16xf32>, tensor<32x16x3x3xf32>) -> tensor<1x8x8x32xf32>
  return %0 : tensor<1x8x8x32xf32>
})";
  };
  for (const char *known : {" {ait.constant}", " {ait.initialized}"}) {
    auto found = match(kernel(known).c_str());
    EXPECT_TRUE(found.ok()) << found.status();
  }
  auto found = match(kernel("").c_str());
  EXPECT_EQ(found.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(found.status().message()),
              HasSubstr("the filter is no constant"));
}

// Packed channels-last at load, or never.
// At the largest sizes image and result need not go together, as each has a
// symbol of its own; then the smallest tell that there is no code (of f16, with
// a filter for each channel).
TEST_F(LibraryCallsTest, OnednnIsAskedForBothEndsOfARange) {
  const auto ofResults = [&](int64_t most) {
    return match(absl::StrCat(R"(
#image = affine_map<()[s0] -> (1, s0, s0, 4)>
#half = affine_map<()[s0, s1] -> (1, s1, s1, 4)>
module attributes {ait.symbols = [{max = 5 : i64, min = 2 : i64, name = "s0"}, {max = )",
                              most, R"( : i64, min = 1 : i64, name = "s1"}]} {
func.func private @k(%x: tensor<1x?x?x4xf16, #image>, %w: tensor<4x1x3x3xf16> {ait.constant}) -> tensor<1x?x?x4xf16, #half> attributes {ait.kind = #ait.kind<convolution>} {
  %0 = ait.convolution %x, %w {channels_last, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 4 : i64} : (tensor<1x?x?x4xf16, #image>, tensor<4x1x3x3xf16>) -> tensor<1x?x?x4xf16, #half>
  return %0 : tensor<1x?x?x4xf16, #half>
}
})")
                     .c_str())
        .status();
  };
  if (ofResults(3).ok())
    GTEST_SKIP() << "oneDNN has code for it on this CPU";
  EXPECT_TRUE(absl::IsUnimplemented(ofResults(9))) << ofResults(9);
}

TEST_F(LibraryCallsTest, CudnnHasNoConvolutionWhoseFilterIsComputed) {
  auto kernel = [](const char *known, const char *window) {
    return absl::StrReplaceAll(R"(
func.func private @k(%x: tensor<1x8x8x16xf32>, %w: tensor<32x16xWxf32>KNOWN) -> tensor<1x8x8x32xf32> attributes {ait.kind = #ait.kind<convolution>} {
  %0 = ait.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: P, P>, dilation = array<i64: 1, 1>, groups = 1 : i64, channels_last} : (tensor<1x8x8x16xf32>, tensor<32x16xWxf32>) -> tensor<1x8x8x32xf32>
  return %0 : tensor<1x8x8x32xf32>
})",
                               {{"KNOWN", known},
                                {"xWx", absl::StrCat("x", window, "x")},
                                {"P", window[0] == '3' ? "1" : "0"}});
  };
  const CudnnRules cudnn(false, true, false, nullptr);
  EXPECT_TRUE(match(kernel(" {ait.constant}", "3x3").c_str(), cudnn).ok());
  EXPECT_TRUE(match(kernel("", "1x1").c_str(), cudnn).ok());
  for (const char *known : {"", " {ait.initialized}"}) {
    auto found = match(kernel(known, "3x3").c_str(), cudnn);
    EXPECT_THAT(std::string(found.status().message()),
                HasSubstr("the filter is no constant"));
  }
}

TEST_F(LibraryCallsTest, CudnnIsAskedForTheBareConvolutionAndForAFusedOne) {
  constexpr char kConvolution[] = R"(
func.func private @k(%x: tensor<1x8x8x16xf32>, %w: tensor<32x16x3x3xf32> {ait.constant}) -> tensor<1x8x8x32xf32> attributes {ait.kind = #ait.kind<convolution>} {
  %0 = ait.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, channels_last} : (tensor<1x8x8x16xf32>, tensor<32x16x3x3xf32>) -> tensor<1x8x8x32xf32>
  %1 = ait.relu %0 : tensor<1x8x8x32xf32>
  return %1 : tensor<1x8x8x32xf32>
})";
  auto bare = match(kConvolution, CudnnRules(false, true, false, nullptr));
  ASSERT_TRUE(bare.ok()) << bare.status();
  EXPECT_EQ(bare->call.convolution().post_ops_size(), 0);
  ASSERT_TRUE(bare->rest);
  EXPECT_EQ(bare->rest.getSymName(), "k_epilogue");
  const CudnnRules fusing(true, true, false, nullptr);
  auto fused = match(kConvolution, fusing);
  ASSERT_TRUE(fused.ok()) << fused.status();
  EXPECT_EQ(fused->call.convolution().post_ops_size(), 1);
  EXPECT_FALSE(fused->rest);

  // A candidate an algorithm; those after the first may be none.
  KernelImplementation implementation;
  implementation.steps.push_back({{0, 1}, {2}, fused->call, {}});
  const std::vector<KernelImplementation> candidates = fusing.listCandidates(
      implementation, *fused, *module->getOps<func::FuncOp>().begin());
  ASSERT_GT(candidates.size(), 1u);
  EXPECT_EQ(candidates[0].name, "cudnn");
  EXPECT_FALSE(candidates[0].mayNotExist);
  EXPECT_TRUE(candidates[1].mayNotExist);
  EXPECT_EQ(candidates[1].steps[0].call.convolution().algorithm(), 1);
  EXPECT_GT(candidates[0].leastMicroseconds, 0);
  // The filter is packed channels-last at load.
  ASSERT_EQ(candidates[0].steps[0].packings.size(), 2u);
  EXPECT_EQ(candidates[0].steps[0].packings[1].kind(),
            PackingProto::CONVOLUTION_PANELS);
}

} // namespace
} // namespace aitune
