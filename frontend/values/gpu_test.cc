#include "frontend/values/gpu.h"

#include <ATen/ATen.h>

#include <vector>

#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

// The CPU stands for a GPU: what shares memory is copied there too.
TEST(ToDeviceTogetherTest, CopiesShareMemoryAsTheTensorsDo) {
  const at::Tensor whole = at::arange(12, at::kFloat).view({3, 4});
  const at::Tensor alone = at::ones({4});
  const ValueList values(
      {whole, whole.t(), whole.select(0, 1), alone, at::Tensor()});
  const ValueList copies = ToDeviceTogether(values, Device());

  const auto copy = [&](size_t i) { return copies.values()[i].toTensor(); };
  EXPECT_NE(copy(0).data_ptr(), whole.data_ptr());
  for (size_t i = 0; i < 4; ++i)
    EXPECT_TRUE(copy(i).equal(values.values()[i].toTensor())) << i;
  EXPECT_FALSE(copy(4).defined());

  copy(2).fill_(-1);
  EXPECT_TRUE(copy(0).select(0, 1).equal(at::full({4}, -1.0)));
  EXPECT_TRUE(copy(1).select(1, 1).equal(at::full({4}, -1.0)));
  EXPECT_TRUE(copy(0).select(0, 0).equal(whole.select(0, 0)));
  EXPECT_TRUE(whole.equal(at::arange(12, at::kFloat).view({3, 4})));
}

}  // namespace
}  // namespace aitune::frontend
