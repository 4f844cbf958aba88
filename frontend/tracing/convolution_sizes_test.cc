#include "frontend/tracing/convolution_sizes.h"

#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <random>
#include <string>
#include <vector>

namespace aitune::frontend {
namespace {

const c10::FunctionSchema& Schema(const char* name) {
  return c10::Dispatcher::singleton().findSchema({name, ""})->schema();
}

TEST(ConvolutionSizes, AreThoseOfLibTorch) {
  const c10::FunctionSchema& schema = Schema("aten::convolution");
  ASSERT_TRUE(IsConvolution(schema.name()));
  std::mt19937 random(1);
  const auto number = [&](int least, int most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  int made = 0;
  for (int i = 0; i < 1000; ++i) {
    const bool transposed = i % 3 == 0;
    const size_t spatial = 1 + static_cast<size_t>(i) % 3;
    const int64_t groups = number(1, 2), channels = 2 * groups;
    std::vector<int64_t> input{number(1, 2), channels},
        weight{transposed ? channels : 2 * groups, transposed ? 3 : 2}, stride,
        padding, dilation, output_padding;
    for (size_t axis = 0; axis < spatial; ++axis) {
      input.push_back(number(1, 7));
      weight.push_back(number(1, 3));
      stride.push_back(number(1, 3));
      padding.push_back(number(0, 2));
      dilation.push_back(number(1, 2));
      output_padding.push_back(
          transposed ? number(0, std::max(stride.back(), dilation.back()) - 1)
                     : 0);
    }
    const at::Tensor x = at::zeros(input), w = at::zeros(weight);
    const std::vector<c10::IValue> stack{
        x,        w,          c10::IValue(),  stride, padding,
        dilation, transposed, output_padding, groups};
    const auto found = ConvolutionSizes(schema, stack);
    at::Tensor wanted;
    try {
      wanted = at::convolution(x, w, {}, stride, padding, dilation, transposed,
                               output_padding, groups);
    } catch (const std::exception&) {
    }
    // Some of its kernels give a result without elements, others refuse it.
    if (wanted.defined() && wanted.numel() == 0) continue;
    ASSERT_EQ(found.has_value(), wanted.defined())
        << x.sizes() << " by " << w.sizes()
        << (transposed ? " transposed" : "");
    if (!found) continue;
    ASSERT_EQ(found->size(), 1);
    EXPECT_EQ((*found)[0], wanted.sizes().vec());
    ++made;
  }
  EXPECT_GT(made, 500);
}

TEST(ConvolutionSizes, PaddingMayBeSoThatTheSizesStay) {
  const auto found = ConvolutionSizes(
      Schema("aten::conv1d"),
      {at::zeros({2, 3, 9}), at::zeros({5, 3, 4}), c10::IValue(),
       std::vector<int64_t>{1}, std::string("same"), std::vector<int64_t>{1},
       int64_t{1}});
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)[0], (std::vector<int64_t>{2, 5, 9}));
}

}  // namespace
}  // namespace aitune::frontend
