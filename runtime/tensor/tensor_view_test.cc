#include "runtime/tensor/tensor_view.h"

#include "gtest/gtest.h"

namespace aitune {
namespace {

TEST(TensorView, CountsElements) {
  EXPECT_EQ(ElementCount({}), 1);
  EXPECT_EQ(ElementCount({2, 3, 4}), 24);
  EXPECT_EQ(ElementCount({2, 0, 4}), 0);
}

TEST(TensorView, CountsBytes) {
  EXPECT_EQ(BytesOf({nullptr, DataType::kFloat64, {}}), 8);
  EXPECT_EQ(BytesOf({nullptr, DataType::kBFloat16, {2, 3, 4}}), 48);
  EXPECT_EQ(BytesOf({nullptr, DataType::kInt8, {2, 0, 4}}), 0);
}

}  // namespace
}  // namespace aitune
