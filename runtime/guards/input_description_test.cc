#include "runtime/guards/input_description.h"

#include "gtest/gtest.h"

namespace aitune {
namespace {

TEST(LayoutOfTest, Contiguous) {
  EXPECT_EQ(LayoutOf({}, {}), MemoryLayout::kContiguous);
  EXPECT_EQ(LayoutOf({2, 3}, {3, 1}), MemoryLayout::kContiguous);
  EXPECT_EQ(LayoutOf({1, 3}, {77, 1}), MemoryLayout::kContiguous);
  EXPECT_EQ(LayoutOf({0, 3}, {5, 5}), MemoryLayout::kContiguous);
}

TEST(LayoutOfTest, ChannelsLast) {
  EXPECT_EQ(LayoutOf({2, 3, 4, 5}, {60, 1, 15, 3}),
            MemoryLayout::kChannelsLast);
  // Both: contiguous.
  EXPECT_EQ(LayoutOf({2, 1, 4, 5}, {20, 1, 5, 1}), MemoryLayout::kContiguous);
  EXPECT_EQ(LayoutOf({2, 3, 1, 1}, {3, 1, 1, 1}), MemoryLayout::kContiguous);
}

TEST(LayoutOfTest, Strided) {
  EXPECT_EQ(LayoutOf({2, 3}, {1, 2}), MemoryLayout::kStrided);
  EXPECT_EQ(LayoutOf({2, 3}, {0, 1}), MemoryLayout::kStrided);
  EXPECT_EQ(LayoutOf({2, 3}, {3}), MemoryLayout::kStrided);
  EXPECT_EQ(LayoutOf({2, 3, 4, 5}, {120, 1, 15, 3}), MemoryLayout::kStrided);
}

TEST(InputDescriptionTest, Text) {
  const int64_t sizes[] = {8, 128};
  CallInput tensor;
  tensor.dtype = DataType::kInt64;
  tensor.sizes = sizes;
  EXPECT_EQ(ToString(tensor), "int64[8, 128]");
  InputDescription description = InputDescription::Of(tensor);
  EXPECT_EQ(ToString(description), "int64[8, 128]");
  description.axes[0] = {2, AxisRange::kUnbounded, 0};
  description.axes[1] = {1, 512, 1};
  EXPECT_EQ(ToString(description), "int64[2.., 1..512]");
  EXPECT_EQ(ToString(CallInput::Int(-5)), "-5");
  EXPECT_EQ(ToString(CallInput::Bool(true)), "True");
  EXPECT_EQ(ToString(CallInput::Float(0.5)), "0.5");
  EXPECT_EQ(ToString(CallInput::String("sum")), "'sum'");
  EXPECT_EQ(ToString(CallInput::None()), "None");
  EXPECT_EQ(ToString(InputDescription::Of(CallInput::Int(7))), "7");
}

TEST(InputDescriptionTest, OfATensorView) {
  const TensorView view{nullptr, DataType::kFloat16, {0, 3}};
  const InputDescription description =
      InputDescription::Of(CallInput::Tensor(view));
  EXPECT_EQ(description.kind, InputKind::kTensor);
  EXPECT_EQ(description.dtype, DataType::kFloat16);
  EXPECT_EQ(description.device, "cpu");
  ASSERT_EQ(description.axes.size(), 2u);
  EXPECT_FALSE(description.axes[0].dynamic());
  EXPECT_TRUE(description.axes[0].contains(0));
}

}  // namespace
}  // namespace aitune
