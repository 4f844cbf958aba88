#include "compiler/reference/Reference.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "compiler/dialect/Ait.h"
#include "compiler/reference/ReferenceTesting.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using testing::HasSubstr;
using testing::IsEmpty;

namespace aitune {
namespace {

std::vector<double> randomNumbers(size_t count) {
  std::mt19937 generator(1);
  std::normal_distribution<double> normal;
  std::vector<double> numbers(count);
  for (double &number : numbers)
    number = normal(generator);
  return numbers;
}

TEST(SampleTest, ASmallResultWhole) {
  const std::vector<ReferenceResult> results =
      referenceOf(kernelOf("ait.relu %a0 : tensor<30x30xf32>",
                           {"tensor<30x30xf32>"}, "tensor<30x30xf32>"),
                  {randomNumbers(900)});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].positions.size(), 900u);
}

TEST(SampleTest, OfALargeResultCornersAndEnds) {
  const int64_t rows = 300, columns = 500;
  const std::string type = absl::StrCat("tensor<", rows, "x", columns, "xf32>");
  const std::vector<ReferenceResult> results =
      referenceOf(kernelOf(absl::StrCat("ait.relu %a0 : ", type), {type}, type),
                  {randomNumbers(rows * columns)});
  ASSERT_EQ(results.size(), 1u);
  const std::vector<int64_t> &positions = results[0].positions;
  EXPECT_GT(positions.size(), 900u);
  EXPECT_LT(positions.size(), 1100u);
  EXPECT_TRUE(std::is_sorted(positions.begin(), positions.end()));
  for (int64_t position :
       {int64_t{0}, columns - 1, (rows - 1) * columns, rows * columns - 1,
        int64_t{15}, rows * columns - 16})
    EXPECT_THAT(positions, testing::Contains(position));
}

TEST(SampleTest, ALargeProductCostsItsSamplesAlone) {
  // 2 * 2048^3 operations take this loop more than ten seconds.
  const std::string type = "tensor<2048x2048xf32>";
  const std::vector<double> numbers = randomNumbers(2048 * 2048);
  const auto start = std::chrono::steady_clock::now();
  const std::vector<ReferenceResult> results =
      referenceOf(kernelOf(absl::StrCat("ait.matmul %a0, %a1 : (", type, ", ",
                                        type, ") -> ", type),
                           {type, type}, type),
                  {numbers, numbers});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_GT(results[0].positions.size(), 900u);
  EXPECT_LT(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count(),
      8);
}

TEST(SampleTest, WhatIsTooMuchIsLeftOut) {
  ReferenceOptions options;
  options.most = 3000;
  const std::string sum =
      "ait.sum %a0 {dims = array<i64: 1>} : tensor<2000x1000xf32> -> "
      "tensor<2000x1xf32>";
  const std::string text =
      kernelOf(sum, {"tensor<2000x1000xf32>"}, "tensor<2000x1xf32>");
  const std::vector<ReferenceResult> results =
      referenceOf(text, {randomNumbers(2000 * 1000)}, {}, options);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].positions.size(), 2u);
  for (const ReferenceElement &element : results[0].elements)
    EXPECT_LT(element.error, 1);
}

class ReferenceErrorTest : public testing::Test {
protected:
  ReferenceErrorTest() {
    context.loadDialect<ait::AitDialect, func::FuncDialect>();
  }
  absl::Status run(const std::string &text, std::vector<int64_t> sizes,
                   int64_t most = 1 << 20) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    std::vector<float> numbers(ElementCount(sizes), 1);
    ReferenceOptions options;
    options.most = most;
    const TensorView view{numbers.data(), DataType::kFloat32, sizes};
    return computeReference(*module->getOps<func::FuncOp>().begin(), {view}, {},
                            options)
        .status();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(ReferenceErrorTest, AnUnknownOperationIsNamed) {
  const absl::Status status =
      run(kernelOf("ait.softmax %a0 {dim = 0 : i64} : tensor<4xf32>  -> "
                   "tensor<4xf32>",
                   {"tensor<4xf32>"}, "tensor<4xf32>"),
          {4});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("ait.softmax"));
}

TEST_F(ReferenceErrorTest, AnElementThatTakesTooMuch) {
  EXPECT_EQ(run(kernelOf("ait.sum %a0 {dims = array<i64: 0>} : "
                         "tensor<1000xf32> -> tensor<1xf32>",
                         {"tensor<1000xf32>"}, "tensor<1xf32>"),
                {1000}, /*most=*/100)
                .code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(ReferenceErrorTest, AnArgumentOfAnotherSize) {
  EXPECT_EQ(run(kernelOf("ait.relu %a0 : tensor<8xf32>", {"tensor<8xf32>"},
                         "tensor<8xf32>"),
                {4})
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(CompareTest, SaysWhereAndByHowMuch) {
  std::vector<ReferenceResult> expected(1);
  expected[0].positions = {0, 5};
  expected[0].elements = {{1, 0, 0.5}, {2, 0, 0.5}};
  std::vector<float> data = {1.25, 0, 0, 0, 0, 1.75};
  const TensorView view{data.data(), DataType::kFloat32, {2, 3}};
  EXPECT_THAT(compareWithReference(expected, {view}), IsEmpty());
  data[5] = 3;
  EXPECT_EQ(compareWithReference(expected, {view}),
            "result 0 at [1, 2] is 3 where 2 is right, give or take 0.5; 1 of "
            "2 compared elements are wrong");
}

TEST(CompareTest, NanInfinitiesAndWhatIsUnknown) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  auto isRight = [](ReferenceElement expected, float actual) {
    std::vector<ReferenceResult> results(1);
    results[0].positions = {0};
    results[0].elements = {expected};
    return compareWithReference(results,
                                {TensorView{&actual, DataType::kFloat32, {1}}})
        .empty();
  };
  EXPECT_TRUE(isRight({nan, 0, 0}, nan));
  EXPECT_FALSE(isRight({nan, 0, 0}, 1));
  EXPECT_FALSE(isRight({1, 0, 0.1}, nan));
  EXPECT_TRUE(isRight({kInfinity, 0, 0}, kInfinity));
  EXPECT_FALSE(isRight({kInfinity, 0, 0}, -kInfinity));
  EXPECT_FALSE(isRight({1, 0, 0.1}, kInfinity));
  EXPECT_TRUE(isRight({1, 0, kInfinity}, nan));
}

TEST(CoverageTest, CountsWhatIsKnown) {
  std::vector<ReferenceResult> results(1);
  results[0].positions = {0, 1};
  results[0].elements = {{1, 0, 0},
                         {1, 0, std::numeric_limits<double>::infinity()}};
  EXPECT_EQ(coverageOf(results).known, 1);
  EXPECT_EQ(coverageOf(results).sampled, 2);
}

// A softmax in parts, as kernels hold it: 0.25 and 0.75.
TEST(KernelTest, ASoftmaxInParts) {
  const char *text = R"(
    func.func @kernel(%x: tensor<1x2xf64>) -> tensor<1x2xf64> {
      %0 = ait.amax %x {dims = array<i64: 1>} : tensor<1x2xf64> -> tensor<1x1xf64>
      %1 = ait.expand %0 : tensor<1x1xf64> -> tensor<1x2xf64>
      %2 = ait.sub %x, %1 : tensor<1x2xf64>
      %3 = ait.exp %2 : tensor<1x2xf64>
      %4 = ait.sum %3 {dims = array<i64: 1>} : tensor<1x2xf64> -> tensor<1x1xf64>
      %5 = ait.expand %4 : tensor<1x1xf64> -> tensor<1x2xf64>
      %6 = ait.div %3, %5 : tensor<1x2xf64>
      return %6 : tensor<1x2xf64>
    })";
  EXPECT_THAT(valuesOf(text, {{7, 7 + std::log(3.0)}}),
              testing::ElementsAre(testing::DoubleNear(0.25, 1e-12),
                                   testing::DoubleNear(0.75, 1e-12)));
}

TEST(KernelTest, SeveralResults) {
  const char *text = R"(
    func.func @kernel(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xi1>) {
      %0 = ait.neg %x : tensor<2xf32>
      %1 = ait.isnan %x : tensor<2xf32> -> tensor<2xi1>
      return %0, %1 : tensor<2xf32>, tensor<2xi1>
    })";
  const std::vector<ReferenceResult> results = referenceOf(text, {{1, 2}});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].elements[1].number, -2);
  EXPECT_EQ(results[1].elements[1].integer, 0);
}

} // namespace
} // namespace aitune
