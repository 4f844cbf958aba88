// Generated depthwise convolutions of images stored channel by channel, against
// a reference in double precision.
#include <cmath>

#include "compiler/codegen/cpu/contraction/Convolution.h"
#include "compiler/codegen/cpu/contraction/MicrokernelTesting.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace aitune;
using namespace aitune::testing;

namespace {

/// Along height and width.
using Pair = std::array<int64_t, 2>;

struct Case {
  int64_t batch, channels;
  Pair size, kernel, stride{1, 1}, padding{0, 0}, dilation{1, 1};
  std::string type = "f32";
  std::string target = "host";
  std::string config = "{}";

  int64_t outputSize(int axis) const {
    return (size[axis] + 2 * padding[axis] -
            dilation[axis] * (kernel[axis] - 1) - 1) /
               stride[axis] +
           1;
  }
  std::string attributes() const {
    return llvm::formatv(
        "{{stride = array<i64: {0}, {1}>, padding = array<i64: {2}, {3}>, "
        "dilation = array<i64: {4}, {5}>, groups = {6} : i64}",
        stride[0], stride[1], padding[0], padding[1], dilation[0], dilation[1],
        channels);
  }
};

std::ostream &operator<<(std::ostream &stream, const Case &c) {
  return stream << c.batch << "x" << c.channels << "x" << c.size[0] << "x"
                << c.size[1] << " k" << c.kernel[0] << "x" << c.kernel[1] << " "
                << c.attributes() << " " << c.type << " " << c.target << " "
                << c.config;
}

TestTensor convolve(const Case &c, const TestTensor &input,
                    const TestTensor &filter) {
  const int64_t oh = c.outputSize(0), ow = c.outputSize(1);
  TestTensor result({c.batch, c.channels, oh, ow});
  float *target = result.values.data();
  for (int64_t plane = 0; plane < c.batch * c.channels; ++plane)
    for (int64_t y = 0; y < oh; ++y)
      for (int64_t x = 0; x < ow; ++x, ++target) {
        double sum = 0;
        for (int64_t ky = 0; ky < c.kernel[0]; ++ky)
          for (int64_t kx = 0; kx < c.kernel[1]; ++kx) {
            const int64_t iy =
                y * c.stride[0] - c.padding[0] + ky * c.dilation[0];
            const int64_t ix =
                x * c.stride[1] - c.padding[1] + kx * c.dilation[1];
            if (iy < 0 || iy >= c.size[0] || ix < 0 || ix >= c.size[1])
              continue;
            const int64_t channel = plane % c.channels;
            sum +=
                double(
                    input.values[(plane * c.size[0] + iy) * c.size[1] + ix]) *
                filter.values[(channel * c.kernel[0] + ky) * c.kernel[1] + kx];
          }
        *target = static_cast<float>(sum);
      }
  return result;
}

/// A kernel with a bias and relu or, where `isLong`, tanh, which is too long to
/// be repeated for every register.
std::string textOf(const Case &c, bool isLong) {
  return llvm::formatv(
      R"(
    func.func private @kernel(%x: tensor<{0}x{1}x{2}x{3}x{9}>, %f: tensor<{1}x1x{4}x{5}x{9}> {{ait.constant},
                              %bias: tensor<{1}xf32>)
        -> tensor<{0}x{1}x{6}x{7}xf32> attributes {{ait.kind = #ait.kind<convolution>, ait.config = {10}} {{
      %0 = ait.convolution %x, %f {8} : (tensor<{0}x{1}x{2}x{3}x{9}>, tensor<{1}x1x{4}x{5}x{9}>)
        -> tensor<{0}x{1}x{6}x{7}xf32>
      %1 = ait.reshape %bias : tensor<{1}xf32> -> tensor<{1}x1x1xf32>
      %2 = ait.expand %1 : tensor<{1}x1x1xf32> -> tensor<{0}x{1}x{6}x{7}xf32>
      %3 = ait.add %0, %2 : tensor<{0}x{1}x{6}x{7}xf32>
      %4 = ait.{11} %3 : tensor<{0}x{1}x{6}x{7}xf32>
      return %4 : tensor<{0}x{1}x{6}x{7}xf32>
    })",
      c.batch, c.channels, c.size[0], c.size[1], c.kernel[0], c.kernel[1],
      c.outputSize(0), c.outputSize(1), c.attributes(), c.type, c.config,
      isLong ? "tanh" : "relu");
}

void expectRight(const Case &c, TestKernel &kernel, bool isLong) {
  TestTensor input = makeRandom({c.batch, c.channels, c.size[0], c.size[1]}, 1),
             filter = makeRandom({c.channels, 1, c.kernel[0], c.kernel[1]}, 2),
             bias = makeRandom({c.channels}, 3);
  TestTensor expected = convolve(c, input, filter);
  const int64_t pixels = c.outputSize(0) * c.outputSize(1);
  for (int64_t i = 0; i < expected.count(); ++i) {
    const float sum = expected.values[i] + bias.values[i / pixels % c.channels];
    expected.values[i] = isLong ? std::tanh(sum) : std::max(0.0f, sum);
  }
  EXPECT_LE(getMaximalError(kernel.run({input, filter, bias})[0], expected),
            1e-6 * std::sqrt(double(c.kernel[0] * c.kernel[1]) + 1))
      << c;
}

class PlanesTest : public ::testing::TestWithParam<Case> {};

TEST_P(PlanesTest, MatchesReference) {
  const Case &c = GetParam();
  if (!canRun(c.target))
    GTEST_SKIP() << "this machine is no " << c.target;
  const bool isLong = c.batch % 2 == 0;
  TestKernel kernel(textOf(c, isLong), lowerConvolution, c.target);
  ASSERT_EQ(kernel.error(), "");
  expectRight(c, kernel, isLong);
}

std::vector<Case> getCases() {
  std::vector<Case> cases;
  const auto add = [&](Case c, const char *type = "f32",
                       const char *target = "host") {
    c.type = type;
    c.target = target;
    cases.push_back(std::move(c));
  };
  // Rows of a vector and more, of a part of one, and of one element.
  add({2, 3, {9, 37}, {3, 3}, {1, 1}, {1, 1}});
  add({1, 5, {7, 7}, {3, 3}, {1, 1}, {1, 1}});
  add({1, 2, {3, 1}, {3, 3}, {1, 1}, {1, 1}});
  add({1, 2, {70, 64}, {3, 3}});
  // Larger filters, in registers and in loops, and images smaller than them.
  add({1, 3, {20, 33}, {5, 5}, {1, 1}, {2, 2}});
  add({2, 3, {15, 18}, {7, 7}, {1, 1}, {3, 3}});
  add({1, 3, {2, 2}, {7, 7}, {1, 1}, {3, 3}});
  add({1, 2, {3, 40}, {5, 3}, {1, 1}, {4, 0}});
  // Strides of two and three, and of one axis.
  add({1, 3, {12, 130}, {7, 7}, {2, 2}, {0, 0}});
  add({1, 3, {14, 35}, {3, 3}, {1, 2}, {1, 1}});
  add({1, 3, {14, 35}, {3, 3}, {2, 1}, {1, 1}});
  // Dilated.
  add({1, 3, {16, 39}, {3, 3}, {2, 2}, {3, 3}, {3, 3}});
  add({1, 3, {4, 5}, {3, 3}, {1, 1}, {4, 4}, {4, 4}});
  // Of one dimension: with all padding, and strided.
  add({1, 3, {1, 50}, {1, 7}, {1, 1}, {0, 3}});
  add({1, 3, {1, 9}, {1, 40}, {1, 1}, {0, 39}});
  add({1, 3, {1, 70}, {1, 4}, {1, 2}, {0, 1}, {1, 3}});
  for (const char *type : {"f32", "bf16", "f16"}) {
    add({2, 3, {13, 41}, {3, 3}, {2, 2}, {1, 1}}, type);
    add({1, 3, {14, 55}, {3, 3}, {3, 3}, {1, 1}}, type);
    add({1, 3, {11, 39}, {3, 3}, {1, 1}, {2, 2}, {2, 2}}, type);
    add({2, 5, {1, 70}, {1, 4}, {1, 1}, {0, 3}}, type);
  }
  for (const char *target : {"avx2", "avx512"})
    for (const char *type : {"f32", "bf16"}) {
      add({1, 3, {9, 37}, {5, 5}, {1, 1}, {2, 2}}, type, target);
      add({1, 3, {9, 50}, {3, 3}, {3, 3}, {1, 1}}, type, target);
    }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Shapes, PlanesTest, ::testing::ValuesIn(getCases()));

TEST(PlanesKernelTest, SizesFromSymbols) {
  for (int64_t stride : {1, 2}) {
    std::string text = llvm::formatv(
        R"(
      #in = affine_map<()[s0, s1, s2] -> (s0, 6, s1, s2)>
      #out = affine_map<()[s0, s1, s2] -> (s0, 6, (s1 - 1) floordiv {0} + 1, (s2 - 1) floordiv {0} + 1)>
      func.func private @kernel(%x: tensor<?x6x?x?xf32, #in>, %f: tensor<6x1x3x3xf32> {{ait.constant})
          -> tensor<?x6x?x?xf32, #out> attributes {{ait.kind = #ait.kind<convolution>} {{
        %0 = ait.convolution %x, %f {{stride = array<i64: {0}, {0}>, padding = array<i64: 1, 1>,
          dilation = array<i64: 1, 1>, groups = 6 : i64}
          : (tensor<?x6x?x?xf32, #in>, tensor<6x1x3x3xf32>) -> tensor<?x6x?x?xf32, #out>
        return %0 : tensor<?x6x?x?xf32, #out>
      })",
        stride);
    TestKernel kernel(text, lowerConvolution);
    ASSERT_EQ(kernel.error(), "");
    for (auto [batch, height, width] :
         {std::tuple(1, 1, 1), std::tuple(2, 8, 5), std::tuple(1, 70, 40)}) {
      Case c{batch, 6, {height, width}, {3, 3}, {stride, stride}, {1, 1}};
      TestTensor input = makeRandom({batch, 6, height, width}, 1),
                 filter = makeRandom({6, 1, 3, 3}, 2);
      EXPECT_LE(getMaximalError(
                    kernel.run({input, filter}, {batch, height, width})[0],
                    convolve(c, input, filter)),
                1e-5)
          << c;
    }
  }
}

TEST(PlanesKernelTest, EveryListedScheduleIsRight) {
  const Case c{1, 3, {19, 20}, {3, 3}, {1, 1}, {1, 1}};
  size_t count = 1;
  for (size_t index = 0; index < count; ++index) {
    auto lower = [&](mlir::func::FuncOp function, const Target &target,
                     std::string &reason) -> mlir::LogicalResult {
      mlir::FailureOr<ConvolutionProblem> problem =
          analyzeConvolution(function, target, reason);
      if (mlir::failed(problem))
        return mlir::failure();
      EXPECT_EQ(problem->form, ConvolutionForm::Planes);
      std::vector<ConvolutionSchedule> schedules =
          listConvolutionSchedules(*problem, target);
      count = schedules.size();
      return emitConvolution(function, *problem, schedules[index], target,
                             reason);
    };
    TestKernel kernel(textOf(c, false), lower);
    ASSERT_EQ(kernel.error(), "") << index;
    expectRight(c, kernel, false);
  }
  EXPECT_GT(count, 4u);
}

TEST(PlanesKernelTest, SaysWhyNot) {
  const auto getError = [](const std::string &config) {
    const Case c{1,      3,      {9, 16}, {3, 3},   {1, 1},
                 {1, 1}, {1, 1}, "f32",   "avx512", config};
    return TestKernel(textOf(c, false), lowerConvolution, c.target).error();
  };
  EXPECT_EQ(getError("{mr = 17 : i64}"), "mr must be in [1, 16], not 17");
  EXPECT_EQ(getError("{nr = 8 : i64}"),
            "mc must be positive, not 64, and nr the 16 lanes of a vector, "
            "not 8");
  EXPECT_EQ(getError("{mc = 4 : i64, mr = 3 : i64}"), "");
}

} // namespace
