#include "frontend/trace/out_variant.h"

#include <ATen/ATen.h>

#include <vector>

#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

TEST(FindOutVariant, WritesToTheTensorsThatItIsGiven) {
  const std::optional<OutVariant> found = FindOutVariant("aten::sort", "");
  ASSERT_TRUE(found);
  ASSERT_EQ(found->argument_count, 3);
  const at::Tensor x = at::tensor({3.0f, 1.0f, 2.0f});
  at::Tensor values = at::empty({3}), positions = at::empty({3}, at::kLong);
  const void* memory = values.data_ptr();
  std::vector<c10::IValue> stack = {x, -1, false, values, positions};
  found->handle.callBoxed(stack);
  EXPECT_EQ(values.data_ptr(), memory);
  EXPECT_TRUE(at::equal(values, at::tensor({1.0f, 2.0f, 3.0f})));
  EXPECT_EQ(positions[0].item<int64_t>(), 1);
}

TEST(FindOutVariant, KnowsOverloads) {
  EXPECT_TRUE(FindOutVariant("aten::mean", "dim"));
  EXPECT_TRUE(FindOutVariant("aten::add", "Tensor"));
  EXPECT_TRUE(FindOutVariant("aten::cumsum", ""));
}

TEST(FindOutVariant, NoneForViewsRegionsAndWhatWouldCopy) {
  EXPECT_FALSE(FindOutVariant("aten::transpose", "int"));
  EXPECT_FALSE(FindOutVariant("aten::relu_", ""));
  EXPECT_FALSE(FindOutVariant("aitune::model", ""));
  EXPECT_FALSE(FindOutVariant("aten::convolution", ""));
}

TEST(FindOutVariant, NoneThatRefusesWhatTheOperatorTakes) {
  // aten::adaptive_avg_pool2d takes two axes where the result is one element;
  // its variant does not.
  EXPECT_FALSE(FindOutVariant("aten::adaptive_avg_pool2d", ""));
  EXPECT_TRUE(FindOutVariant("aten::inner", ""));
  // It gives the memory other sizes on the way.
  EXPECT_FALSE(FindOutVariant("aten::matmul", ""));
  EXPECT_FALSE(FindOutVariant("aten::linalg_solve_triangular", ""));
}

}  // namespace
}  // namespace aitune::frontend
