#include "frontend/values/repeated_elements.h"

#include <ATen/Functions.h>

#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

at::Tensor Count(int64_t count) { return at::arange(count, at::kInt); }

TEST(RepeatedElements, SmallTensorsHaveElementsOfTheirOwn) {
  EXPECT_TRUE(RepeatedElements({3, 5}, Count)
                  .equal(at::arange(15, at::kInt).view({3, 5})));
  EXPECT_EQ(RepeatedElements({0, 5}, Count).sizes(), at::IntArrayRef({0, 5}));
  EXPECT_EQ(RepeatedElements({}, Count).item<int>(), 0);
}

TEST(RepeatedElements, ThoseOfALargeTensorComeAgain) {
  const at::Tensor tensor = RepeatedElements({3, 1 << 20}, Count);
  EXPECT_TRUE(tensor.view({-1}).equal(at::arange(3 << 20, at::kLong)
                                          .remainder(kDistinctElements)
                                          .to(at::kInt)));
  EXPECT_FALSE(tensor[0].equal(tensor[1]));
}

}  // namespace
}  // namespace aitune::frontend
