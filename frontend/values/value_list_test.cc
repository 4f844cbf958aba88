#include "frontend/values/value_list.h"

#include <ATen/ATen.h>

#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

TEST(ValueList, AClonesTensorsHaveTheStridesAndMemoryOfTheirOwn) {
  const at::Tensor base = at::arange(48).reshape({6, 8}).to(at::kFloat);
  for (const at::Tensor& given :
       {base, base.t(), base.slice(0, 1, 6, 2), base.slice(1, 3, 8, 2).t(),
        base.select(1, 2).unsqueeze(0).expand({5, 6}), base.slice(0, 6),
        base.select(0, 0).select(0, 5), base.unfold(1, 4, 2)}) {
    const ValueList clone = ValueList({given}).Clone();
    const at::Tensor made = clone.values()[0].toTensor();
    EXPECT_EQ(made.strides(), given.strides());
    EXPECT_TRUE(made.equal(given));
    EXPECT_FALSE(made.is_alias_of(given));
  }
}

}  // namespace
}  // namespace aitune::frontend
