#include "frontend/values/tensor_memory.h"

#include <ATen/ATen.h>

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

struct Case {
  std::string name;
  at::Tensor made;
  std::vector<at::Tensor> given;  // what it keeps
};

std::vector<Case> Cases() {
  const auto ints = [](std::vector<int64_t> numbers) {
    return at::tensor(numbers, at::kLong);
  };
  std::vector<Case> cases;
  const at::Tensor values = at::ones({2});
  const at::Tensor indices = at::zeros({2, 2}, at::kLong);
  cases.push_back({"coo",
                   at::sparse_coo_tensor(indices, values, {3, 3}),
                   {indices, values}});
  const at::Tensor rows = ints({0, 1, 2}), columns = ints({1, 0});
  cases.push_back(
      {"csr",
       at::sparse_csr_tensor(rows, columns, values, {2, 2}, at::kFloat),
       {rows, columns, values}});
  cases.push_back(
      {"csc",
       at::sparse_csc_tensor(rows, columns, values, {2, 2}, at::kFloat),
       {rows, columns, values}});
  const at::Tensor sizes = at::ones({2, 1}, at::kLong);
  const at::Tensor strides = at::ones({2, 1}, at::kLong);
  const at::Tensor offsets = ints({0, 1});
  cases.push_back(
      {"nested",
       at::_nested_view_from_buffer(values, sizes, strides, offsets),
       {values, sizes, strides, offsets}});
  const at::Tensor scales = at::ones({2}, at::kDouble), zeros = ints({0, 0});
  cases.push_back(
      {"quantized",
       at::quantize_per_channel(values, scales, zeros, 0, at::kQInt8),
       {scales, zeros}});
  cases.push_back({"dense", values.slice(0, 1, 2), {values}});
  return cases;
}

TEST(TensorMemory, IsThatOfTheParts) {
  for (const Case& one : Cases()) {
    SCOPED_TRACE(one.name);
    const at::Tensor copy = CopyOf(one.made);
    EXPECT_EQ(copy.dim(), one.made.dim());
    EXPECT_EQ(copy.scalar_type(), one.made.scalar_type());
    EXPECT_EQ(copy.layout(), one.made.layout());
    EXPECT_TRUE(ShareMemory(one.made, one.made));
    EXPECT_FALSE(ShareMemory(one.made, copy));
    for (const at::Tensor& part : one.given) {
      EXPECT_TRUE(ShareMemory(one.made, part));
      EXPECT_FALSE(ShareMemory(copy, part));
    }
  }
}

TEST(TensorMemory, OfNothing) {
  EXPECT_TRUE(DenseParts(at::Tensor()).empty());
  EXPECT_FALSE(ShareMemory(at::Tensor(), at::ones({2})));
  EXPECT_FALSE(ShareMemory(at::ones({2}), at::ones({2})));
}

}  // namespace
}  // namespace aitune::frontend
