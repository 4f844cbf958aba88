#include "runtime/tensor/tensor_view.h"

#include "gtest/gtest.h"

namespace aitune {
namespace {

TEST(TensorView, CountsElements) {
  EXPECT_EQ(ElementCount({}), 1);
  EXPECT_EQ(ElementCount({2, 3, 4}), 24);
  EXPECT_EQ(ElementCount({2, 0, 4}), 0);
}

}  // namespace
}  // namespace aitune
