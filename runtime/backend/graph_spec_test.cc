#include "runtime/backend/graph_spec.h"

#include "gtest/gtest.h"

namespace aitune {
namespace {

using Kind = GraphAxis::Kind;

TEST(GraphSpecTest, Text) {
  GraphSpec spec;
  EXPECT_EQ(spec.ToString(), "");
  spec.inputs = {{DataType::kFloat32,
                  {{Kind::kBatch, 1, 1, 2},
                   {Kind::kDynamic, 0, 2, 8},
                   {Kind::kFixed, 4, 0, 0}}},
                 {DataType::kInt64, {}}};
  EXPECT_EQ(spec.ToString(), "float32[batch0, dim1, 4], int64[]");
}

TEST(GraphSpecTest, KindsOfAxes) {
  GraphSpec spec;
  spec.inputs = {{DataType::kFloat32, {{Kind::kFixed, 4, 0, 0}}}};
  EXPECT_FALSE(spec.has_batch_axis());
  EXPECT_FALSE(spec.has_dynamic_axis());
  spec.inputs[0].axes.push_back({Kind::kBatch, 1, 1, 2});
  EXPECT_TRUE(spec.has_batch_axis());
  spec.inputs[0].axes.push_back({Kind::kDynamic, 0, 1, 2});
  EXPECT_TRUE(spec.has_dynamic_axis());
}

}  // namespace
}  // namespace aitune
