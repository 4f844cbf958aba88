// Generated convolutions against a reference in double precision.
#include "compiler/codegen/cpu/contraction/Convolution.h"

#include <cmath>

#include "compiler/codegen/cpu/contraction/MicrokernelTesting.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace aitune;
using namespace aitune::testing;

namespace {

struct Case {
  int64_t batch, height, width, inputs, outputs, kernel;
  int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
  std::string type = "f32";
  std::string target = "host";
  std::string config = "{}";

  int64_t outputSize(int64_t size) const {
    return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  }
};

std::ostream &operator<<(std::ostream &stream, const Case &c) {
  return stream << c.batch << "x" << c.height << "x" << c.width << "x"
                << c.inputs << " o" << c.outputs << " k" << c.kernel << " s"
                << c.stride << " p" << c.padding << " d" << c.dilation << " g"
                << c.groups << " " << c.type << " " << c.target << " "
                << c.config;
}

TestTensor convolve(const Case &c, const TestTensor &input,
                    const TestTensor &filter) {
  int64_t oh = c.outputSize(c.height), ow = c.outputSize(c.width);
  int64_t inputsPerGroup = c.inputs / c.groups,
          outputsPerGroup = c.outputs / c.groups;
  TestTensor result({c.batch, oh, ow, c.outputs});
  float *target = result.values.data();
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t y = 0; y < oh; ++y)
      for (int64_t x = 0; x < ow; ++x)
        for (int64_t o = 0; o < c.outputs; ++o, ++target) {
          double sum = 0;
          for (int64_t ky = 0; ky < c.kernel; ++ky)
            for (int64_t kx = 0; kx < c.kernel; ++kx) {
              int64_t iy = y * c.stride - c.padding + ky * c.dilation;
              int64_t ix = x * c.stride - c.padding + kx * c.dilation;
              if (iy < 0 || iy >= c.height || ix < 0 || ix >= c.width)
                continue;
              int64_t first = o / outputsPerGroup * inputsPerGroup;
              for (int64_t i = 0; i < inputsPerGroup; ++i)
                sum +=
                    double(input.values[((n * c.height + iy) * c.width + ix) *
                                            c.inputs +
                                        first + i]) *
                    filter.values[((o * inputsPerGroup + i) * c.kernel + ky) *
                                      c.kernel +
                                  kx];
            }
          *target = static_cast<float>(sum);
        }
  return result;
}

std::string attributes(const Case &c) {
  return llvm::formatv("{{stride = array<i64: {0}, {0}>, padding = array<i64: "
                       "{1}, {1}>, dilation = array<i64: {2}, "
                       "{2}>, groups = {3} : i64, channels_last}",
                       c.stride, c.padding, c.dilation, c.groups);
}

class ConvolutionTest : public ::testing::TestWithParam<Case> {};

/// With bias, a residual and relu; with an odd batch also tanh, which is too
/// long to be repeated for every register.
TEST_P(ConvolutionTest, MatchesReference) {
  const Case &c = GetParam();
  if (!canRun(c.target))
    GTEST_SKIP() << "this machine is no " << c.target;
  bool isLong = c.batch % 2 == 1;
  int64_t oh = c.outputSize(c.height), ow = c.outputSize(c.width);
  std::string text = llvm::formatv(
      R"(
    func.func private @kernel(%x: tensor<{0}x{1}x{2}x{3}x{10}>, %f: tensor<{4}x{5}x{6}x{6}x{10}> {{ait.constant},
                              %bias: tensor<{4}xf32>, %other: tensor<{0}x{7}x{8}x{4}xf32>)
        -> tensor<{0}x{7}x{8}x{4}xf32> attributes {{ait.kind = #ait.kind<convolution>, ait.config = {11}} {{
      %0 = ait.convolution %x, %f {9} : (tensor<{0}x{1}x{2}x{3}x{10}>, tensor<{4}x{5}x{6}x{6}x{10}>)
        -> tensor<{0}x{7}x{8}x{4}xf32>
      %1 = ait.expand %bias : tensor<{4}xf32> -> tensor<{0}x{7}x{8}x{4}xf32>
      %2 = ait.add %0, %1 : tensor<{0}x{7}x{8}x{4}xf32>
      %3 = ait.add %2, %other : tensor<{0}x{7}x{8}x{4}xf32>
      %4 = ait.relu %3 : tensor<{0}x{7}x{8}x{4}xf32>
      %5 = ait.{12} %4 : tensor<{0}x{7}x{8}x{4}xf32>
      return %5 : tensor<{0}x{7}x{8}x{4}xf32>
    })",
      c.batch, c.height, c.width, c.inputs, c.outputs, c.inputs / c.groups,
      c.kernel, oh, ow, attributes(c), c.type, c.config,
      isLong ? "tanh" : "relu");
  TestKernel kernel(text, lowerConvolution, c.target);
  ASSERT_EQ(kernel.error(), "");
  TestTensor input = makeRandom({c.batch, c.height, c.width, c.inputs}, 1),
             filter = makeRandom(
                 {c.outputs, c.inputs / c.groups, c.kernel, c.kernel}, 2),
             bias = makeRandom({c.outputs}, 3),
             other = makeRandom({c.batch, oh, ow, c.outputs}, 4);
  TestTensor expected = convolve(c, input, filter);
  for (int64_t i = 0; i < expected.count(); ++i)
    expected.values[i] =
        std::max(0.0f, expected.values[i] + bias.values[i % c.outputs] +
                           other.values[i]);
  if (isLong)
    for (float &value : expected.values)
      value = std::tanh(value);
  int64_t steps = c.inputs / c.groups * c.kernel * c.kernel;
  // Winograd's transforms add up more than they leave.
  double rounding =
      c.config.find("winograd") == std::string::npos ? 1e-6 : 4e-6;
  EXPECT_LE(
      getMaximalError(kernel.run({input, filter, bias, other})[0], expected),
      rounding * std::sqrt(double(steps) + 1));
}

std::vector<Case> getCases() {
  std::vector<Case> cases;
  for (const char *type : {"f32", "bf16", "f16"}) {
    // 1x1; the first layer; taps with and without padding, stride, dilation.
    cases.push_back({2, 5, 6, 20, 40, 1, 1, 0, 1, 1, type});
    cases.push_back({1, 7, 7, 24, 33, 1, 2, 0, 1, 1, type});
    cases.push_back({1, 20, 23, 3, 20, 7, 2, 3, 1, 1, type});
    cases.push_back({2, 9, 10, 3, 17, 3, 1, 1, 2, 1, type});
    cases.push_back({2, 6, 5, 16, 24, 3, 1, 1, 1, 1, type});
    cases.push_back({1, 9, 11, 17, 50, 3, 2, 1, 1, 1, type});
    cases.push_back({1, 9, 9, 16, 16, 3, 1, 2, 2, 1, type});
    cases.push_back({1, 6, 6, 13, 70, 3, 1, 0, 1, 1, type});
    cases.push_back({1, 5, 5, 9, 16, 5, 1, 4, 1, 1, type});
    // Groups: of a few channels, of whole vectors, of an odd number.
    cases.push_back({1, 6, 7, 32, 32, 3, 1, 1, 1, 8, type});
    cases.push_back({1, 6, 7, 32, 64, 3, 2, 1, 1, 2, type});
    cases.push_back({2, 4, 4, 30, 21, 3, 1, 1, 1, 3, type});
    cases.push_back({1, 6, 7, 32, 32, 3, 1, 1, 1, 4, type});
    cases.push_back({1, 5, 5, 8, 32, 3, 2, 1, 1, 4, type});
    // Depthwise, with channels that do not fill a vector.
    cases.push_back({2, 8, 9, 16, 16, 3, 1, 1, 1, 16, type});
    cases.push_back({1, 14, 13, 72, 72, 5, 2, 2, 1, 72, type});
    cases.push_back({1, 5, 21, 19, 19, 3, 1, 2, 2, 19, type});
    cases.push_back({1, 2, 2, 16, 16, 5, 1, 2, 1, 16, type});
    // Depthwise with two outputs an input.
    cases.push_back({1, 5, 6, 10, 20, 3, 1, 1, 1, 10, type});
  }
  for (const char *target : {"avx2", "avx512", "avx512bf16"})
    for (const char *type : {"f32", "bf16"}) {
      cases.push_back({1, 6, 7, 16, 24, 3, 1, 1, 1, 1, type, target});
      cases.push_back({1, 11, 12, 3, 24, 3, 2, 1, 1, 1, type, target});
      cases.push_back({1, 6, 7, 20, 20, 3, 1, 1, 1, 20, type, target});
    }
  // Tiles that fill the registers, of this machine where it has 32.
  const char *wide = canRun("avx512") ? "host" : "avx512";
  for (auto [target, config] :
       std::vector<std::pair<const char *, const char *>>{
           {wide, "{kc = 2 : i64, mc = 16 : i64, mr = 4 : i64, nr = 32 : i64}"},
           {wide, "{kc = 0 : i64, mc = 14 : i64, mr = 14 : i64, nr = 16 : i64, "
                  "panels_outer = false}"},
           {"avx2",
            "{kc = 2 : i64, mc = 12 : i64, mr = 6 : i64, nr = 16 : i64}"},
           {"avx2",
            "{kc = 0 : i64, mc = 10 : i64, mr = 10 : i64, nr = 8 : i64, "
            "panels_outer = false}"}})
    cases.push_back({2, 7, 9, 20, 70, 3, 1, 1, 1, 1, "f32", target, config});
  // Groups that half vectors fit; rows that no tile divides, strides, few
  // channels and elements that are widened, which are copied first.
  const char *half = "{algorithm = \"direct_half_vectors\"}";
  cases.push_back({2, 9, 11, 72, 72, 3, 1, 1, 1, 3, "f32", "avx512", half});
  cases.push_back({1, 7, 5, 80, 80, 3, 2, 1, 1, 2, "f32", "avx512", half});
  cases.push_back({1, 6, 9, 112, 112, 3, 1, 2, 2, 2, "f32", "avx512", half});
  cases.push_back({1, 9, 8, 12, 48, 5, 1, 2, 1, 2, "f32", "avx512", half});
  cases.push_back({1, 9, 8, 48, 48, 3, 1, 1, 1, 2, "bf16", "avx512", half});
  cases.push_back({1, 9, 8, 40, 40, 3, 1, 1, 1, 2, "f32", "avx2", half});
  // Sizes that no tile divides, every padding, channels that fill no vector,
  // more than one block and more than one group of panels.
  for (std::string algorithm : {"winograd_2x2", "winograd_4x4"}) {
    std::string chosen = "{algorithm = \"" + algorithm + "\"}";
    cases.push_back({1, 8, 8, 16, 16, 3, 1, 1, 1, 1, "f32", "host", chosen});
    cases.push_back({2, 7, 9, 20, 70, 3, 1, 1, 1, 1, "f32", "host", chosen});
    cases.push_back({3, 5, 6, 9, 33, 3, 1, 0, 1, 1, "f32", "host", chosen});
    cases.push_back({1, 3, 3, 64, 48, 3, 1, 0, 1, 1, "f32", "host", chosen});
    cases.push_back({2, 1, 13, 24, 32, 3, 1, 2, 1, 1, "f32", "host", chosen});
    cases.push_back({1, 4, 1, 8, 8, 3, 1, 4, 1, 1, "f32", "host", chosen});
    cases.push_back({1, 30, 31, 17, 40, 3, 1, 1, 1, 1, "f32", "host",
                     "{algorithm = \"" + algorithm +
                         "\", mr = 4 : i64, nr = 16 : i64, mc = 8 : i64, "
                         "panels = 2 : i64, panels_outer = false}"});
    for (const char *target : {"avx2", "avx512"})
      cases.push_back({1, 9, 7, 12, 20, 3, 1, 1, 1, 1, "f32", target, chosen});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Shapes, ConvolutionTest,
                         ::testing::ValuesIn(getCases()));

TEST(ConvolutionKernelTest, SizesFromSymbols) {
  // Batch, height and width from symbols; one kernel of each form. Three groups
  // of which each fills one and a half of this machine's vectors.
  const int halves = static_cast<int>(3 * 3 * Target::host().vectorBits / 64);
  for (auto [inputs, outputs, groups, stride, config] :
       {std::tuple(16, 20, 1, 2, "{}"), std::tuple(3, 20, 1, 2, "{}"),
        std::tuple(20, 20, 20, 2, "{}"),
        std::tuple(16, 20, 1, 1, "{algorithm = \"winograd_2x2\"}"),
        std::tuple(16, 20, 1, 1, "{algorithm = \"winograd_4x4\"}"),
        std::tuple(halves, halves, 3, 1,
                   "{algorithm = \"direct_half_vectors\"}")}) {
    std::string text = llvm::formatv(
        R"(
      #in = affine_map<()[s0, s1, s2] -> (s0, s1, s2, {0})>
      #out = affine_map<()[s0, s1, s2] -> (s0, (s1 - 1) floordiv {4} + 1, (s2 - 1) floordiv {4} + 1, {1})>
      func.func private @kernel(%x: tensor<?x?x?x{0}xf32, #in>, %f: tensor<{1}x{2}x3x3xf32> {{ait.constant})
          -> tensor<?x?x?x{1}xf32, #out> attributes {{ait.kind = #ait.kind<convolution>, ait.config = {5}} {{
        %0 = ait.convolution %x, %f {{stride = array<i64: {4}, {4}>, padding = array<i64: 1, 1>,
          dilation = array<i64: 1, 1>, groups = {3} : i64, channels_last}
          : (tensor<?x?x?x{0}xf32, #in>, tensor<{1}x{2}x3x3xf32>) -> tensor<?x?x?x{1}xf32, #out>
        return %0 : tensor<?x?x?x{1}xf32, #out>
      })",
        inputs, outputs, inputs / groups, groups, stride, config);
    TestKernel kernel(text, lowerConvolution);
    ASSERT_EQ(kernel.error(), "");
    for (auto [batch, height, width] :
         {std::tuple(1, 1, 1), std::tuple(2, 8, 5), std::tuple(1, 13, 40)}) {
      Case c{batch, height, width, inputs, outputs, 3, stride, 1, 1, groups};
      TestTensor input = makeRandom({batch, height, width, inputs}, 1),
                 filter = makeRandom({outputs, inputs / groups, 3, 3}, 2);
      EXPECT_LE(getMaximalError(
                    kernel.run({input, filter}, {batch, height, width})[0],
                    convolve(c, input, filter)),
                2e-5)
          << c;
    }
  }
}

TEST(ConvolutionKernelTest, EveryListedScheduleIsRight) {
  for (const Case &c :
       {Case{1, 7, 9, 20, 40, 3, 1, 1}, Case{1, 12, 12, 3, 24, 3, 2, 1},
        Case{1, 6, 6, 20, 40, 1}, Case{1, 9, 9, 40, 40, 3, 1, 1, 1, 40}}) {
    std::string text = llvm::formatv(
        R"(
      func.func private @kernel(%x: tensor<{0}x{1}x{2}x{3}xf32>, %f: tensor<{4}x{5}x{6}x{6}xf32> {{ait.constant})
          -> tensor<{0}x{7}x{8}x{4}xf32> attributes {{ait.kind = #ait.kind<convolution>} {{
        %0 = ait.convolution %x, %f {9} : (tensor<{0}x{1}x{2}x{3}xf32>, tensor<{4}x{5}x{6}x{6}xf32>)
          -> tensor<{0}x{7}x{8}x{4}xf32>
        return %0 : tensor<{0}x{7}x{8}x{4}xf32>
      })",
        c.batch, c.height, c.width, c.inputs, c.outputs, c.inputs / c.groups,
        c.kernel, c.outputSize(c.height), c.outputSize(c.width), attributes(c));
    TestTensor input = makeRandom({c.batch, c.height, c.width, c.inputs}, 1),
               filter = makeRandom(
                   {c.outputs, c.inputs / c.groups, c.kernel, c.kernel}, 2);
    TestTensor expected = convolve(c, input, filter);
    size_t count = 1;
    for (size_t index = 0; index < count; ++index) {
      std::string name;
      auto lower = [&](mlir::func::FuncOp function, const Target &target,
                       std::string &reason) -> mlir::LogicalResult {
        mlir::FailureOr<ConvolutionProblem> problem =
            analyzeConvolution(function, target, reason);
        if (mlir::failed(problem))
          return mlir::failure();
        std::vector<ConvolutionSchedule> schedules =
            listConvolutionSchedules(*problem, target);
        // Every third: each is compiled.
        count = (schedules.size() + 2) / 3;
        name = schedules[index * 3].toString();
        return emitConvolution(function, *problem, schedules[index * 3], target,
                               reason);
      };
      TestKernel kernel(text, lower);
      ASSERT_EQ(kernel.error(), "") << c << " " << name;
      EXPECT_LE(getMaximalError(kernel.run({input, filter})[0], expected), 2e-5)
          << c << " " << name;
    }
    EXPECT_GT(count, 1u);
  }
}

/// Without a search Winograd's algorithm is taken where it is sure to pay and
/// its filters are small.
TEST(ConvolutionKernelTest, WinogradWithoutASearch) {
  auto choose = [](int64_t size, int64_t channels, const std::string &type) {
    std::string text = llvm::formatv(
        R"(
      func.func private @kernel(%x: tensor<1x{0}x{0}x{1}x{2}>, %f: tensor<{1}x{1}x3x3x{2}> {{ait.constant})
          -> tensor<1x{0}x{0}x{1}xf32> attributes {{ait.kind = #ait.kind<convolution>} {{
        %0 = ait.convolution %x, %f {{stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, channels_last}
          : (tensor<1x{0}x{0}x{1}x{2}>, tensor<{1}x{1}x3x3x{2}>) -> tensor<1x{0}x{0}x{1}xf32>
        return %0 : tensor<1x{0}x{0}x{1}xf32>
      })",
        size, channels, type);
    std::string chosen;
    auto lower = [&](mlir::func::FuncOp function, const Target &target,
                     std::string &reason) -> mlir::LogicalResult {
      mlir::FailureOr<ConvolutionProblem> problem =
          analyzeConvolution(function, target, reason);
      if (mlir::failed(problem))
        return mlir::failure();
      chosen = chooseConvolutionSchedule(*problem, target).toString();
      return lowerConvolution(function, target, reason);
    };
    TestKernel kernel(text, lower, "avx512");
    EXPECT_EQ(kernel.error(), "");
    bool packed = kernel.ir().find("winograd_4x4") != std::string::npos;
    EXPECT_EQ(packed, chosen.find("winograd_4x4") == 0) << chosen;
    return packed;
  };
  EXPECT_TRUE(choose(28, 64, "f32"));
  EXPECT_FALSE(choose(28, 64, "bf16"));
  EXPECT_FALSE(choose(28, 256, "f32")) << "9 MiB of filters";
  EXPECT_FALSE(choose(12, 64, "f32")) << "9 tiles";
  EXPECT_FALSE(choose(28, 16, "f32"));
}

/// NaNs and infinities reach the results whose windows have them, no others.
TEST(ConvolutionKernelTest, WinogradKeepsWhatIsNotFiniteInItsPlace) {
  for (const char *algorithm : {"winograd_2x2", "winograd_4x4"}) {
    Case c{2, 11, 13, 20, 40, 3, 1, 1};
    std::string text = llvm::formatv(
        R"(
      func.func private @kernel(%x: tensor<2x11x13x20xf32>, %f: tensor<40x20x3x3xf32> {{ait.constant})
          -> tensor<2x11x13x40xf32> attributes {{ait.kind = #ait.kind<convolution>, ait.config = {{algorithm = "{0}", nr = {2} : i64, mr = 4 : i64, mc = 8 : i64}} {{
        %0 = ait.convolution %x, %f {1} : (tensor<2x11x13x20xf32>, tensor<40x20x3x3xf32>)
          -> tensor<2x11x13x40xf32>
        return %0 : tensor<2x11x13x40xf32>
      })",
        algorithm, attributes(c), canRun("avx512") ? 32 : 16);
    TestKernel kernel(text, lowerConvolution);
    ASSERT_EQ(kernel.error(), "");
    TestTensor input = makeRandom({2, 11, 13, 20}, 1),
               filter = makeRandom({40, 20, 3, 3}, 2);
    // A tap of zero would make a NaN of an infinity.
    for (float &tap : filter.values)
      tap = tap == 0 ? 0.5f : tap;
    auto at = [&](int64_t n, int64_t y, int64_t x, int64_t i) -> float & {
      return input.values[((n * 11 + y) * 13 + x) * 20 + i];
    };
    at(0, 0, 0, 0) = NAN;
    at(0, 6, 7, 19) = INFINITY;
    at(0, 9, 3, 4) = -INFINITY;
    at(1, 10, 12, 17) = NAN;
    // Cancels within one window.
    at(1, 3, 3, 2) = INFINITY;
    at(1, 5, 5, 2) = -INFINITY;
    TestTensor expected = convolve(c, input, filter),
               actual = kernel.run({input, filter})[0];
    int64_t special = 0;
    for (int64_t i = 0; i < expected.count(); ++i) {
      float e = expected.values[i], a = actual.values[i];
      special += !std::isfinite(e);
      if (std::isnan(e))
        EXPECT_TRUE(std::isnan(a)) << algorithm << " " << i << ": " << a;
      else if (std::isinf(e))
        EXPECT_EQ(a, e) << algorithm << " " << i;
      else
        EXPECT_NEAR(a, e, 1e-4) << algorithm << " " << i;
    }
    EXPECT_EQ(special, (4 + 9 + 9 + 4 + 9 + 9 - 1) * 40);
  }
}

TEST(ConvolutionKernelTest, SaysWhyNot) {
  auto getError = [](const std::string &flags, const std::string &argument,
                     const std::string &config = "{}") {
    std::string text = llvm::formatv(
        R"(
      func.func private @kernel(%x: tensor<1x4x4x16xf32>, %f: tensor<16x16x1x1xf32> {1}) -> tensor<1x4x4x16xf32>
          attributes {{ait.kind = #ait.kind<convolution>, ait.config = {2}} {{
        %0 = ait.convolution %x, %f {{stride = array<i64: 1, 1>, padding = array<i64: 0, 0>,
          dilation = array<i64: 1, 1>, groups = 1 : i64, {0}}
          : (tensor<1x4x4x16xf32>, tensor<16x16x1x1xf32>) -> tensor<1x4x4x16xf32>
        return %0 : tensor<1x4x4x16xf32>
      })",
        flags, argument, config);
    return TestKernel(text, lowerConvolution, "avx512").error();
  };
  EXPECT_EQ(getError("channels_last", ""),
            "the filter is not a constant of the model");
  EXPECT_EQ(getError("channels_last", "{ait.constant}",
                     "{algorithm = \"winograd_4x4\"}"),
            "Winograd's algorithms are for 3x3 convolutions of stride 1, "
            "dilation 1 and one group, of 8 channels or more");
  EXPECT_EQ(getError("channels_last", "{ait.constant}",
                     "{algorithm = \"winograd_6x6\"}"),
            "algorithm must be direct, direct_half_vectors, winograd_2x2 or "
            "winograd_4x4, not winograd_6x6");
  EXPECT_EQ(getError("channels_last", "{ait.constant}",
                     "{algorithm = \"direct_half_vectors\"}"),
            "half vectors are for groups of channels of which they hold a "
            "whole number and whole vectors do not, multiplied and added in "
            "one instruction");
}

} // namespace
