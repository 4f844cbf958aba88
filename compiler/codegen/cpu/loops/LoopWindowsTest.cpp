// Generated kernels that read windows (pools, resizing) against plain C++.
#include "compiler/codegen/cpu/loops/LoopKernelTesting.h"

namespace aitune {
namespace testing {
namespace {

class LoopWindowsTest : public LoopKernelTest {};

TEST_P(LoopWindowsTest, PoolsChannelsLastAndFirst) {
  for (bool last : {true, false}) {
    std::string type = last ? "tensor<2x9x9x20xf32>" : "tensor<2x20x9x9xf32>";
    std::string result = last ? "tensor<2x5x5x20xf32>" : "tensor<2x20x5x5xf32>";
    std::string text = R"(
func.func private @f(%x: IN) -> (OUT, OUT) attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.max_pool2d %x {kernel_size = array<i64: 3,3>, stride = array<i64: 2,2>, padding = array<i64: 1,1>, dilation = array<i64: 1,1>LAST} : IN -> OUT
  %1 = ait.avg_pool2d %x {kernel_size = array<i64: 3,3>, stride = array<i64: 2,2>, padding = array<i64: 1,1>, count_include_pad = falseLAST} : IN -> OUT
  return %0, %1 : OUT, OUT
})";
    text = replaceAll(replaceAll(text, "IN", type), "OUT", result);
    RunnableKernel kernel =
        compile(replaceAll(text, "LAST", last ? ", channels_last" : ""));
    Floats x = random(2 * 81 * 20), greatest(2 * 25 * 20),
           mean(greatest.size());
    ASSERT_TRUE(kernel.run("f", {data(x), data(greatest), data(mean)}, {}, 3));
    auto at = [&](int n, int h, int w, int c, int size) {
      return last ? ((n * size + h) * size + w) * 20 + c
                  : ((n * 20 + c) * size + h) * size + w;
    };
    Floats expectedGreatest(greatest.size()), expectedMean(greatest.size());
    for (int n = 0; n < 2; ++n)
      for (int h = 0; h < 5; ++h)
        for (int w = 0; w < 5; ++w)
          for (int c = 0; c < 20; ++c) {
            float best = -100, sum = 0;
            int count = 0;
            for (int i = 2 * h - 1; i < 2 * h + 2; ++i)
              for (int j = 2 * w - 1; j < 2 * w + 2; ++j)
                if (i >= 0 && i < 9 && j >= 0 && j < 9) {
                  best = std::max(best, x[at(n, i, j, c, 9)]);
                  sum += x[at(n, i, j, c, 9)];
                  ++count;
                }
            expectedGreatest[at(n, h, w, c, 5)] = best;
            expectedMean[at(n, h, w, c, 5)] = sum / count;
          }
    expectNear(greatest, expectedGreatest, 0,
               last ? "max pool, channels last" : "max pool");
    expectNear(mean, expectedMean, 1e-6f,
               last ? "average pool, channels last" : "average pool");
  }
}

TEST_P(LoopWindowsTest, Upsamples) {
  RunnableKernel kernel = compile(R"(
func.func private @f(%x: tensor<1x3x4x5xf32>) -> (tensor<1x3x8x10xf32>, tensor<1x3x7x9xf32>) attributes {ait.kind = #ait.kind<loop>} {
  %n = ait.upsample_nearest2d %x {scale_h = 0.5, scale_w = 0.5} : tensor<1x3x4x5xf32> -> tensor<1x3x8x10xf32>
  %b = ait.upsample_bilinear2d %x {scale_h = 0.5, scale_w = 0.5, align_corners = true} : tensor<1x3x4x5xf32> -> tensor<1x3x7x9xf32>
  return %n, %b : tensor<1x3x8x10xf32>, tensor<1x3x7x9xf32>
})");
  Floats x = random(60), nearest(240), bilinear(189), expectedNearest(240),
         expectedBilinear(189);
  ASSERT_TRUE(kernel.run("f", {data(x), data(nearest), data(bilinear)}, {}, 2));
  for (int c = 0; c < 3; ++c) {
    for (int h = 0; h < 8; ++h)
      for (int w = 0; w < 10; ++w)
        expectedNearest[(c * 8 + h) * 10 + w] = x[(c * 4 + h / 2) * 5 + w / 2];
    for (int h = 0; h < 7; ++h)
      for (int w = 0; w < 9; ++w) {
        auto read = [&](int i, int j) {
          return x[(c * 4 + std::min(i, 3)) * 5 + std::min(j, 4)];
        };
        float y = h * 0.5f, z = w * 0.5f;
        int i = static_cast<int>(y), j = static_cast<int>(z);
        float a = y - i, b = z - j;
        expectedBilinear[(c * 7 + h) * 9 + w] =
            (1 - a) * ((1 - b) * read(i, j) + b * read(i, j + 1)) +
            a * ((1 - b) * read(i + 1, j) + b * read(i + 1, j + 1));
      }
  }
  expectNear(nearest, expectedNearest, 0, "nearest");
  expectNear(bilinear, expectedBilinear, 1e-6f, "bilinear");
}

INSTANTIATE_TEST_SUITE_P(Targets, LoopWindowsTest, allTargets(),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

} // namespace
} // namespace testing
} // namespace aitune
