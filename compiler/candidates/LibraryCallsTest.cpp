#include "compiler/candidates/LibraryCalls.h"

#include "compiler/dialect/Ait.h"
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

  std::optional<LibraryMatch> match(const char *text) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return matchLibraryCall(*module->getOps<func::FuncOp>().begin(), reason);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::string reason;
};

TEST_F(LibraryCallsTest, BiasActivationAndResidualAreFused) {
  auto found = match(R"(
func.func private @k(%x: tensor<4x8xf32>, %r: tensor<4x16xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<4x16xf32> attributes {ait.kind = "matmul"} {
  %0 = ait.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = ait.expand %b : tensor<16xf32> -> tensor<4x16xf32>
  %2 = ait.add %0, %1 : tensor<4x16xf32>
  %3 = ait.gelu %2 : tensor<4x16xf32>
  %4 = ait.add %r, %3 : tensor<4x16xf32>
  return %4 : tensor<4x16xf32>
})");
  ASSERT_TRUE(found) << reason;
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
func.func private @k(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> attributes {ait.kind = "matmul"} {
  %0 = ait.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = ait.gelu %0 : tensor<4x16xf32>
  %2 = ait.atan2 %1, %y : tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
})");
  ASSERT_TRUE(found) << reason;
  EXPECT_EQ(found->call.matmul().post_ops_size(), 1);
  ASSERT_TRUE(found->rest);
  EXPECT_THAT(found->restArguments, ElementsAre(-1, 2));
  EXPECT_EQ(found->rest->getAttrOfType<StringAttr>("ait.kind").getValue(),
            "loop");
  EXPECT_TRUE(succeeded(module->verify()));
}

// oneDNN's relu makes 0 of NaN.
TEST_F(LibraryCallsTest, ReluIsLeftToALoopKernel) {
  auto found = match(R"(
func.func private @k(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> attributes {ait.kind = "matmul"} {
  %0 = ait.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = ait.relu %0 : tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
})");
  ASSERT_TRUE(found) << reason;
  EXPECT_EQ(found->call.matmul().post_ops_size(), 0);
  EXPECT_TRUE(found->rest);
}

TEST_F(LibraryCallsTest, AResultReadTwiceEndsTheFusion) {
  auto found = match(R"(
func.func private @k(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) attributes {ait.kind = "matmul"} {
  %0 = ait.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = ait.gelu %0 : tensor<4x16xf32>
  return %0, %1 : tensor<4x16xf32>, tensor<4x16xf32>
})");
  ASSERT_TRUE(found) << reason;
  EXPECT_EQ(found->call.matmul().post_ops_size(), 0);
  EXPECT_TRUE(found->rest);
}

TEST_F(LibraryCallsTest, AComputedOperandIsRefusedWithAReason) {
  EXPECT_FALSE(match(R"(
func.func private @k(%x: tensor<8x4xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> attributes {ait.kind = "matmul"} {
  %0 = ait.permute %x {permutation = array<i64: 1, 0>} : tensor<8x4xf32> -> tensor<4x8xf32>
  %1 = ait.matmul %0, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
})"));
  EXPECT_THAT(reason, HasSubstr("computed in the kernel"));
}

} // namespace
} // namespace aitune
