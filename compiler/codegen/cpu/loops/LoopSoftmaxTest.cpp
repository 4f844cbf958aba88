// Generated softmaxes against plain C++, over the shapes where schedules
// change: vector tails, short and long rows, dynamic sizes, other axes.
#include <algorithm>

#include "compiler/codegen/cpu/loops/LoopKernelTesting.h"

namespace aitune {
namespace testing {
namespace {

class LoopSoftmaxTest : public LoopKernelTest {};

constexpr const char *kSoftmax = R"(
#full = affine_map<()[s0] -> (s0, N)>
#row = affine_map<()[s0] -> (s0, 1)>
func.func private @softmax(%x: tensor<?xNxf32, #full>) -> tensor<?xNxf32, #full> attributes {ait.kind = #ait.kind<loop>} {
  %m = ait.amax %x {dims = array<i64: 1>} : tensor<?xNxf32, #full> -> tensor<?x1xf32, #row>
  %me = ait.expand %m : tensor<?x1xf32, #row> -> tensor<?xNxf32, #full>
  %d = ait.sub %x, %me : tensor<?xNxf32, #full>
  %e = ait.exp %d : tensor<?xNxf32, #full>
  %t = ait.sum %e {dims = array<i64: 1>} : tensor<?xNxf32, #full> -> tensor<?x1xf32, #row>
  %te = ait.expand %t : tensor<?x1xf32, #row> -> tensor<?xNxf32, #full>
  %r = ait.div %e, %te : tensor<?xNxf32, #full>
  return %r : tensor<?xNxf32, #full>
})";

Floats softmax(const Floats &x, size_t columns) {
  Floats result(x.size());
  for (size_t row = 0; row < x.size() / columns; ++row) {
    const float *in = &x[row * columns];
    double greatest = *std::max_element(in, in + columns), sum = 0;
    for (size_t i = 0; i < columns; ++i)
      sum += std::exp(in[i] - greatest);
    for (size_t i = 0; i < columns; ++i)
      result[row * columns + i] =
          static_cast<float>(std::exp(in[i] - greatest) / sum);
  }
  return result;
}

TEST_P(LoopSoftmaxTest, OfAnyRowLength) {
  std::vector<int> lengths = {1,  2,  7,  8,   15,  16,   17,
                              31, 33, 64, 127, 768, 1000, 4099};
  for (int columns : lengths) {
    RunnableKernel kernel =
        compile(replaceAll(kSoftmax, "N", std::to_string(columns)));
    for (int64_t rows : {1, 3}) {
      Floats x = random(rows * columns), result(x.size() + 64, 42);
      ASSERT_TRUE(kernel.run("softmax", {data(x), data(result)}, {rows}, 2));
      for (size_t i = x.size(); i < result.size(); ++i)
        ASSERT_EQ(result[i], 42)
            << "written past the end, row length " << columns;
      result.resize(x.size());
      expectNear(result, softmax(x, columns), 1e-6f,
                 "softmax of " + std::to_string(columns));
    }
  }
}

TEST_P(LoopSoftmaxTest, OfDynamicRows) {
  RunnableKernel kernel = compile(R"(
#full = affine_map<()[s0, s1] -> (s0, s1)>
#row = affine_map<()[s0] -> (s0, 1)>
func.func private @softmax(%x: tensor<?x?xf32, #full>) -> tensor<?x?xf32, #full> attributes {ait.kind = #ait.kind<loop>} {
  %m = ait.amax %x {dims = array<i64: 1>} : tensor<?x?xf32, #full> -> tensor<?x1xf32, #row>
  %me = ait.expand %m : tensor<?x1xf32, #row> -> tensor<?x?xf32, #full>
  %d = ait.sub %x, %me : tensor<?x?xf32, #full>
  %e = ait.exp %d : tensor<?x?xf32, #full>
  %t = ait.sum %e {dims = array<i64: 1>} : tensor<?x?xf32, #full> -> tensor<?x1xf32, #row>
  %te = ait.expand %t : tensor<?x1xf32, #row> -> tensor<?x?xf32, #full>
  %r = ait.div %e, %te : tensor<?x?xf32, #full>
  return %r : tensor<?x?xf32, #full>
})");
  for (int64_t columns = 1; columns <= 70; ++columns) {
    Floats x = random(5 * columns), result(x.size());
    ASSERT_TRUE(
        kernel.run("softmax", {data(x), data(result)}, {5, columns}, 3));
    expectNear(result, softmax(x, columns), 1e-6f,
               "softmax of " + std::to_string(columns));
  }
}

/// The longest row is not that of the greatest size: what is kept of a row must
/// hold it too.
TEST_P(LoopSoftmaxTest, OfRowsOfARemainder) {
  RunnableKernel kernel = compile(R"(
#full = affine_map<()[s0] -> (3, s0 mod 64)>
module attributes {ait.symbols = [{name = "s0", min = 65 : i64, max = 130 : i64, input = 0 : i64, axis = 0 : i64}]} {
func.func private @softmax(%x: tensor<3x?xf32, #full>) -> tensor<3x?xf32, #full> attributes {ait.kind = #ait.kind<loop>} {
  %m = ait.amax %x {dims = array<i64: 1>} : tensor<3x?xf32, #full> -> tensor<3x1xf32>
  %me = ait.expand %m : tensor<3x1xf32> -> tensor<3x?xf32, #full>
  %d = ait.sub %x, %me : tensor<3x?xf32, #full>
  %e = ait.exp %d : tensor<3x?xf32, #full>
  %t = ait.sum %e {dims = array<i64: 1>} : tensor<3x?xf32, #full> -> tensor<3x1xf32>
  %te = ait.expand %t : tensor<3x1xf32> -> tensor<3x?xf32, #full>
  %r = ait.div %e, %te : tensor<3x?xf32, #full>
  return %r : tensor<3x?xf32, #full>
}
})");
  for (int64_t size = 65; size <= 127; ++size) {
    const int64_t columns = size % 64;
    Floats x = random(3 * columns), result(x.size());
    ASSERT_TRUE(kernel.run("softmax", {data(x), data(result)}, {size}, 1));
    expectNear(result, softmax(x, columns), 1e-6f,
               "softmax of " + std::to_string(columns));
  }
}

TEST_P(LoopSoftmaxTest, KeepsNanAndMinusInfinity) {
  RunnableKernel kernel = compile(replaceAll(kSoftmax, "N", "20"));
  Floats x = random(40), result(40);
  x[3] = -std::numeric_limits<float>::infinity();
  x[25] = std::nanf("");
  ASSERT_TRUE(kernel.run("softmax", {data(x), data(result)}, {2}));
  EXPECT_EQ(result[3], 0);
  for (int i = 20; i < 40; ++i)
    EXPECT_TRUE(std::isnan(result[i])) << i;
}

TEST_P(LoopSoftmaxTest, OverTheMiddleAxis) {
  for (int columns : {1, 6, 16, 37}) {
    RunnableKernel kernel = compile(replaceAll(R"(
func.func private @f(%x: tensor<2x11xNxf32>) -> tensor<2x11xNxf32> attributes {ait.kind = #ait.kind<loop>} {
  %m = ait.amax %x {dims = array<i64: 1>} : tensor<2x11xNxf32> -> tensor<2x1xNxf32>
  %me = ait.expand %m : tensor<2x1xNxf32> -> tensor<2x11xNxf32>
  %d = ait.sub %x, %me : tensor<2x11xNxf32>
  %e = ait.exp %d : tensor<2x11xNxf32>
  %t = ait.sum %e {dims = array<i64: 1>} : tensor<2x11xNxf32> -> tensor<2x1xNxf32>
  %te = ait.expand %t : tensor<2x1xNxf32> -> tensor<2x11xNxf32>
  %r = ait.div %e, %te : tensor<2x11xNxf32>
  return %r : tensor<2x11xNxf32>
})",
                                               "N", std::to_string(columns)));
    Floats x = random(22 * columns), result(x.size()), expected(x.size());
    ASSERT_TRUE(kernel.run("f", {data(x), data(result)}, {}, 2));
    for (int n = 0; n < 2; ++n)
      for (int c = 0; c < columns; ++c) {
        Floats column(11);
        for (int i = 0; i < 11; ++i)
          column[i] = x[(n * 11 + i) * columns + c];
        column = softmax(column, 11);
        for (int i = 0; i < 11; ++i)
          expected[(n * 11 + i) * columns + c] = column[i];
      }
    expectNear(result, expected, 1e-6f, "softmax of columns");
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, LoopSoftmaxTest, allTargets(),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

} // namespace
} // namespace testing
} // namespace aitune
