#include "compiler/candidates/CutKernel.h"

#include "compiler/dialect/KernelAttributes.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using testing::ElementsAre;
using testing::IsEmpty;

namespace aitune {
namespace {

class CutKernelTest : public testing::Test {
protected:
  CutKernelTest() { context.loadDialect<ait::AitDialect, func::FuncDialect>(); }

  func::FuncOp parse(const char *text) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return *module->getOps<func::FuncOp>().begin();
  }

  /// The operations of a part, and that its module is still valid.
  std::vector<std::string> names(CutKernel::Part &part) {
    EXPECT_TRUE(succeeded(verify(*module)));
    std::vector<std::string> result;
    for (Operation &op : part.function.getBody().front().without_terminator())
      result.push_back(op.getName().stripDialect().str());
    return result;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

constexpr char kMatmul[] = R"(
func.func private @matmul_gelu_0(%x: tensor<2x4xf32>, %w: tensor<4x8xf32> {ait.constant}, %r: tensor<2x8xf32>)
    -> tensor<2x8xf32> attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.matmul %x, %w : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %1 = ait.gelu %0 : tensor<2x8xf32>
  %2 = ait.add %1, %r : tensor<2x8xf32>
  return %2 : tensor<2x8xf32>
})";

TEST_F(CutKernelTest, AContractionAndItsEpilogue) {
  func::FuncOp kernel = parse(kMatmul);
  EXPECT_THAT(listCuts(kernel), ElementsAre(1));
  FailureOr<CutKernel> parts = cutKernel(kernel, 1);
  ASSERT_TRUE(succeeded(parts));
  EXPECT_THAT(names(parts->first), ElementsAre("matmul"));
  EXPECT_THAT(names(parts->second), ElementsAre("gelu", "add"));
  // Operands: x, w, r, the result, the product.
  EXPECT_THAT(parts->first.inputs, ElementsAre(0, 1));
  EXPECT_THAT(parts->first.outputs, ElementsAre(4));
  EXPECT_THAT(parts->second.inputs, ElementsAre(4, 2));
  EXPECT_THAT(parts->second.outputs, ElementsAre(3));
  ASSERT_EQ(parts->temporaries.size(), 1u);
  EXPECT_THAT(parts->temporaries[0].getShape(), ElementsAre(2, 8));
  EXPECT_EQ(mlir::ait::getKnownAt(parts->first.function, 1),
            mlir::ait::KnownAt::Load);
  EXPECT_EQ(mlir::ait::getKernelKind(parts->first.function),
            mlir::ait::KernelKind::Matmul);
  EXPECT_EQ(mlir::ait::getKernelKind(parts->second.function),
            mlir::ait::KernelKind::Loop);
  EXPECT_NE(parts->first.function.getSymName(),
            parts->second.function.getSymName());
}

TEST_F(CutKernelTest, NoContractionInTheSecondPartAndNoEmptyPart) {
  func::FuncOp kernel = parse(kMatmul);
  for (int cut : {-1, 0, 3, 9})
    EXPECT_TRUE(failed(cutKernel(kernel, cut))) << cut;
  kernel = parse(R"(
func.func private @matmul_0(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>) -> tensor<2x8xf32>
    attributes {ait.kind = #ait.kind<matmul>} {
  %0 = ait.neg %x : tensor<2x4xf32>
  %1 = ait.matmul %0, %w : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
})");
  EXPECT_THAT(listCuts(kernel), IsEmpty());
  EXPECT_TRUE(failed(cutKernel(kernel, 1)));
}

TEST_F(CutKernelTest, LoopsAreCutWhereTheLeastGoesThroughMemory) {
  func::FuncOp kernel = parse(R"(
func.func private @softmax_0(%x: tensor<3x4xf32>) -> tensor<3x4xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.amax %x {dims = array<i64: 1>} : tensor<3x4xf32> -> tensor<3x1xf32>
  %1 = ait.expand %0 : tensor<3x1xf32> -> tensor<3x4xf32>
  %2 = ait.sub %x, %1 : tensor<3x4xf32>
  %3 = ait.exp %2 : tensor<3x4xf32>
  %4 = ait.sum %3 {dims = array<i64: 1>} : tensor<3x4xf32> -> tensor<3x1xf32>
  %5 = ait.expand %4 : tensor<3x1xf32> -> tensor<3x4xf32>
  %6 = ait.div %3, %5 : tensor<3x4xf32>
  return %6 : tensor<3x4xf32>
})");
  // After the maximum 3 numbers, after the subtraction or exp 12.
  const std::vector<int> cuts = listCuts(kernel);
  EXPECT_THAT(cuts, ElementsAre(2, 3));
  FailureOr<CutKernel> parts = cutKernel(kernel, 2);
  ASSERT_TRUE(succeeded(parts));
  EXPECT_THAT(names(parts->first), ElementsAre("amax"));
  // The broadcasts are made again by who reads them.
  EXPECT_THAT(names(parts->second),
              ElementsAre("expand", "sub", "exp", "sum", "expand", "div"));
  EXPECT_THAT(parts->second.inputs, ElementsAre(2, 0));
  EXPECT_THAT(parts->first.outputs, ElementsAre(2));
}

TEST_F(CutKernelTest, AResultOfTheFirstPartIsNoTemporary) {
  func::FuncOp kernel = parse(R"(
func.func private @add_relu_0(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.add %x, %y : tensor<4xf32>
  %1 = ait.relu %0 : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
})");
  FailureOr<CutKernel> parts = cutKernel(kernel, 1);
  ASSERT_TRUE(succeeded(parts));
  EXPECT_THAT(parts->temporaries, IsEmpty());
  EXPECT_THAT(parts->first.outputs, ElementsAre(2));
  EXPECT_THAT(parts->second.inputs, ElementsAre(2));
  EXPECT_THAT(parts->second.outputs, ElementsAre(3));
}

} // namespace
} // namespace aitune
