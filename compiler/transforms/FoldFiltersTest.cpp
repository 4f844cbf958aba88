// The pass ait-fold-filters, which needs the content of constants.
#include "compiler/dialect/Ait.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <numeric>

namespace aitune {
namespace {

using namespace mlir;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FoldFiltersTest : public ::testing::Test {
protected:
  FoldFiltersTest() {
    context.loadDialect<ait::AitDialect, func::FuncDialect>();
  }

  /// Runs the pass on a function with a constant of `sizes` that counts from 0.
  void fold(const std::string &text, std::vector<int64_t> sizes) {
    std::vector<float> numbers(ElementCount(sizes));
    std::iota(numbers.begin(), numbers.end(), 0.0f);
    ConstantTensor weight;
    weight.view = {numbers.data(), DataType::kFloat32, sizes};
    weight.name = "weight";
    ConstantPool pool;
    pool.find = [&](int64_t number) { return number == 0 ? &weight : nullptr; };
    pool.add = [&](ConstantTensor constant) {
      added.push_back(std::move(constant));
      return static_cast<int64_t>(added.size());
    };
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    PassManager passes(&context);
    passes.nest<func::FuncOp>().addPass(createFoldFilters(pool));
    ASSERT_TRUE(succeeded(passes.run(*module)));
  }
  std::vector<float> numbersOf(const ConstantTensor &constant) {
    const auto *data = static_cast<const float *>(constant.view.data);
    return {data, data + ElementCount(constant.view.sizes)};
  }
  ait::ConstantOp filter() {
    ait::ConstantOp found;
    module->walk([&](ait::ConvolutionOp op) {
      found = op.getFilter().getDefiningOp<ait::ConstantOp>();
    });
    return found;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::vector<ConstantTensor> added;
};

std::string program(const std::string &weight, const std::string &moved) {
  return "func.func @main(%x: tensor<1x2x4x8xf32>) -> tensor<1x2x4x6xf32> {\n"
         "  %w = ait.constant 0 : " +
         weight + "\n" + moved +
         "  %y = ait.convolution %x, %f {stride = array<i64: 1, 1>, padding = "
         "array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : "
         "(tensor<1x2x4x8xf32>, tensor<2x2x1x3xf32>) -> tensor<1x2x4x6xf32>\n"
         "  return %y : tensor<1x2x4x6xf32>\n}";
}

TEST_F(FoldFiltersTest, AReshapedFilterIsAConstantOfItsOwn) {
  fold(program("tensor<2x2x3xf32>",
               "  %f = ait.reshape %w : tensor<2x2x3xf32> -> "
               "tensor<2x2x1x3xf32>\n"),
       {2, 2, 3});
  ASSERT_THAT(added, SizeIs(1));
  EXPECT_EQ(added[0].name, "weight");
  EXPECT_THAT(added[0].view.sizes, ElementsAre(2, 2, 1, 3));
  EXPECT_THAT(numbersOf(added[0]),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  ASSERT_TRUE(filter());
  EXPECT_EQ(filter().getIndex(), 1u);
}

TEST_F(FoldFiltersTest, PermutedAndSlicedElementsAreMoved) {
  fold(program("tensor<2x3x2x2xf32>",
               "  %p = ait.permute %w {permutation = array<i64: 0, 2, 3, 1>} : "
               "tensor<2x3x2x2xf32> -> tensor<2x2x2x3xf32>\n"
               "  %f = ait.slice %p {starts = array<i64: 0, 0, 1, 0>, steps = "
               "array<i64: 1, 1, 1, 1>} : tensor<2x2x2x3xf32> -> "
               "tensor<2x2x1x3xf32>\n"),
       {2, 3, 2, 2});
  ASSERT_THAT(added, SizeIs(1));
  EXPECT_THAT(numbersOf(added[0]),
              ElementsAre(1, 5, 9, 3, 7, 11, 13, 17, 21, 15, 19, 23));
}

TEST_F(FoldFiltersTest, ElementsAreReversedAndPaddedWithZeros) {
  fold(program("tensor<2x2x1x2xf32>",
               "  %r = ait.flip %w {dims = array<i64: 1, 3>} : "
               "tensor<2x2x1x2xf32> -> tensor<2x2x1x2xf32>\n"
               "  %f = ait.pad %r {low = array<i64: 0, 0, 0, 1>, high = "
               "array<i64: 0, 0, 0, 0>, value = 0.0 : f64} : "
               "tensor<2x2x1x2xf32> -> tensor<2x2x1x3xf32>\n"),
       {2, 2, 1, 2});
  ASSERT_THAT(added, SizeIs(1));
  EXPECT_THAT(numbersOf(added[0]),
              ElementsAre(0, 3, 2, 0, 1, 0, 0, 7, 6, 0, 5, 4));
}

TEST_F(FoldFiltersTest, FiltersPaddedWithOtherNumbersStay) {
  fold(program("tensor<2x2x1x2xf32>",
               "  %f = ait.pad %w {low = array<i64: 0, 0, 0, 1>, high = "
               "array<i64: 0, 0, 0, 0>, value = 1.0 : f64} : "
               "tensor<2x2x1x2xf32> -> tensor<2x2x1x3xf32>\n"),
       {2, 2, 1, 2});
  EXPECT_THAT(added, IsEmpty());
}

// Its elements would be stored many times.
TEST_F(FoldFiltersTest, ABroadcastFilterStays) {
  fold(program("tensor<1x2x1x3xf32>",
               "  %f = ait.expand %w : tensor<1x2x1x3xf32> -> "
               "tensor<2x2x1x3xf32>\n"),
       {1, 2, 1, 3});
  EXPECT_THAT(added, IsEmpty());
  EXPECT_FALSE(filter());
}

TEST_F(FoldFiltersTest, AComputedFilterStays) {
  fold(program("tensor<2x2x1x3xf32>",
               "  %f = ait.neg %w : tensor<2x2x1x3xf32>\n"),
       {2, 2, 1, 3});
  EXPECT_THAT(added, IsEmpty());
  EXPECT_FALSE(filter());
}

} // namespace
} // namespace aitune
