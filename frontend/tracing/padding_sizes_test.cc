#include "frontend/tracing/padding_sizes.h"

#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

namespace aitune::frontend {
namespace {

const c10::FunctionSchema& Schema(const char* name) {
  return c10::Dispatcher::singleton().findSchema({name, ""})->schema();
}

std::optional<std::vector<int64_t>> SizesByLibTorch(
    const at::Tensor& x, const std::vector<int64_t>& padding,
    const char* mode) {
  try {
    return at::pad(x, padding, mode).sizes().vec();
  } catch (const c10::Error&) {
    return std::nullopt;
  }
}

TEST(PaddingSizes, AreThoseOfLibTorch) {
  std::mt19937 random(1);
  const auto number = [&](int least, int most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  int padded = 0;
  for (int i = 0; i < 2000; ++i) {
    const char* const mode = i % 2 == 0 ? "reflect" : "replicate";
    std::vector<int64_t> sizes(static_cast<size_t>(number(1, 6)));
    for (int64_t& size : sizes) size = number(number(0, 9) == 0 ? 0 : 1, 4);
    std::vector<int64_t> padding(static_cast<size_t>(2 * number(1, 3)));
    for (int64_t& pad : padding) pad = number(number(0, 3) == 0 ? -2 : 0, 3);
    const at::Tensor x = at::zeros(sizes);
    const std::vector<c10::IValue> stack{x, padding, std::string(mode),
                                         c10::IValue()};
    ASSERT_TRUE(IsPadding(Schema("aten::pad"), stack));
    const auto found = PaddingSizes(Schema("aten::pad"), stack);
    const auto wanted = SizesByLibTorch(x, padding, mode);
    ASSERT_EQ(found.has_value(), wanted.has_value())
        << mode << " of " << x.sizes() << " by " << at::IntArrayRef(padding);
    if (!wanted) continue;
    ASSERT_EQ(found->size(), 1);
    EXPECT_EQ((*found)[0], *wanted);
    ++padded;
  }
  EXPECT_GT(padded, 200);
}

TEST(PaddingSizes, AreThoseOfTheOperatorsOfModes) {
  const at::Tensor x = at::zeros({2, 3, 4});
  const std::vector<c10::IValue> stack{x, std::vector<int64_t>{1, 2}};
  for (const char* name :
       {"aten::reflection_pad1d", "aten::replication_pad1d"}) {
    ASSERT_TRUE(IsPadding(Schema(name), stack)) << name;
    EXPECT_THAT((*PaddingSizes(Schema(name), stack))[0],
                ::testing::ElementsAre(2, 3, 7));
  }
  EXPECT_FALSE(IsPadding(
      Schema("aten::pad"),
      {x, std::vector<int64_t>{1, 2}, std::string("constant"), c10::IValue()}));
  EXPECT_FALSE(IsPadding(Schema("aten::relu"), {x}));
}

}  // namespace
}  // namespace aitune::frontend
