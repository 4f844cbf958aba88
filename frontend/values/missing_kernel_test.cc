#include "frontend/values/missing_kernel.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <optional>
#include <string>

namespace aitune::frontend {
namespace {

std::string MessageOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

// What this version of LibTorch says.
TEST(MissingKernel, IsToldFromMistakes) {
  const std::string fourier =
      MessageOf([] { at::fft_rfft(at::ones({8}, at::kBFloat16)); });
  const std::string half =
      MessageOf([] { at::linalg_det(at::ones({2, 2}, at::kHalf)); });
  const std::string boolean =
      MessageOf([] { at::histc(at::ones({8}, at::kBool)); });
  const std::string sizes =
      MessageOf([] { at::add(at::ones({2}), at::ones({3})); });
  EXPECT_TRUE(IsMissingKernel(fourier)) << fourier;
  EXPECT_EQ(MissingDtype(fourier), at::kBFloat16) << fourier;
  EXPECT_TRUE(IsMissingKernel(half)) << half;
  EXPECT_EQ(MissingDtype(half), at::kHalf) << half;
  EXPECT_TRUE(IsMissingKernel(boolean)) << boolean;
  EXPECT_EQ(MissingDtype(boolean), at::kBool) << boolean;
  EXPECT_FALSE(IsMissingKernel(sizes)) << sizes;
  EXPECT_EQ(MissingDtype(sizes), std::nullopt) << sizes;
  EXPECT_TRUE(IsMissingKernel(
      "Could not run 'torchvision::nms' with arguments from the 'CUDA' "
      "backend"));
  EXPECT_EQ(
      MissingDtype("Could not run 'torchvision::nms' with arguments from the "
                   "'CUDA' backend"),
      std::nullopt);
}

}  // namespace
}  // namespace aitune::frontend
