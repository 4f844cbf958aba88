#include "frontend/trace/shared_constants.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <vector>

namespace aitune::frontend {
namespace {

// Stands for a GPU: what is copied there is another tensor.
const c10::Device there(at::kMeta);

ConstantTensor Constant(std::vector<int64_t> sizes) {
  const auto owner = std::make_shared<std::vector<float>>(
      static_cast<size_t>(ElementCount(sizes)), 1.f);
  ConstantTensor constant;
  constant.view = {owner->data(), DataType::kFloat32, std::move(sizes)};
  constant.owner = owner;
  return constant;
}

TEST(SharedConstants, AreCopiedOnceForAllWhoReadThem) {
  const ConstantTensor weight = Constant({4, 3}), other = Constant({4, 3});
  const auto first = CopyOfConstant(weight, there);
  EXPECT_TRUE(first->tensor.is_meta());
  EXPECT_EQ(PartOf(first), 48);
  const auto second = CopyOfConstant(weight, there);
  EXPECT_EQ(first, second);
  EXPECT_EQ(PartOf(first) + PartOf(second), 48);
  EXPECT_NE(CopyOfConstant(other, there), first);
  // What is written in place is another constant for those who come later.
  static_cast<float*>(weight.view.data)[5] = 2;
  EXPECT_NE(CopyOfConstant(weight, there), first);
  static_cast<float*>(weight.view.data)[5] = 1;
  EXPECT_EQ(CopyOfConstant(weight, there), first);
  // The same memory as something else.
  ConstantTensor flat = weight;
  flat.view.sizes = {12};
  const auto of_flat = CopyOfConstant(flat, there);
  EXPECT_NE(of_flat, first);
  EXPECT_EQ(of_flat->tensor.dim(), 1);
  ConstantTensor lent = weight;
  lent.owner = nullptr;
  EXPECT_NE(CopyOfConstant(lent, there), first);
}

TEST(SharedConstants, KeepTheMemoryTheyWereMadeOfAndGoWithTheLast) {
  ConstantTensor weight = Constant({2});
  const std::weak_ptr<const void> memory = weight.owner;
  auto copy = CopyOfConstant(weight, there);
  const std::weak_ptr<const SharedConstant> alive = copy;
  weight.owner = nullptr;
  EXPECT_FALSE(memory.expired());
  copy = nullptr;
  EXPECT_TRUE(alive.expired());
  EXPECT_TRUE(memory.expired());
}

}  // namespace
}  // namespace aitune::frontend
