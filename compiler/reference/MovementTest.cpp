#include "absl/strings/str_cat.h"
#include "compiler/reference/ReferenceTesting.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using testing::ElementsAre;
using testing::IsEmpty;

namespace aitune {
namespace {

TEST(MovementTest, Full) {
  EXPECT_THAT(valuesOf(kernelOf("ait.full 2.5 : f32 : tensor<2xf32>", {},
                                "tensor<2xf32>"),
                       {}),
              ElementsAre(2.5, 2.5));
  EXPECT_THAT(valuesOf(kernelOf("ait.full -3 : i32 : tensor<1xi32>", {},
                                "tensor<1xi32>"),
                       {}),
              ElementsAre(-3));
}

TEST(MovementTest, Iota) {
  EXPECT_THAT(
      valuesOf(kernelOf("ait.iota {dim = 1 : i64, start = 2.0 : f64, step = "
                        "3.0 : f64} : tensor<2x3xi64>",
                        {}, "tensor<2x3xi64>"),
               {}),
      ElementsAre(2, 5, 8, 2, 5, 8));
  EXPECT_THAT(
      valuesOf(kernelOf("ait.iota {dim = 0 : i64, start = 0.5 : f64, step = "
                        "-0.25 : f64} : tensor<3xf32>",
                        {}, "tensor<3xf32>"),
               {}),
      ElementsAre(0.5, 0.25, 0));
}

TEST(MovementTest, Reshape) {
  EXPECT_THAT(
      valuesOf(kernelOf("ait.reshape %a0 : tensor<2x3xf32> -> tensor<3x2xf32>",
                        {"tensor<2x3xf32>"}, "tensor<3x2xf32>"),
               {{1, 2, 3, 4, 5, 6}}),
      ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(MovementTest, Permute) {
  EXPECT_THAT(
      valuesOf(kernelOf("ait.permute %a0 {permutation = array<i64: 1, 0>} : "
                        "tensor<2x3xf32> -> tensor<3x2xf32>",
                        {"tensor<2x3xf32>"}, "tensor<3x2xf32>"),
               {{1, 2, 3, 4, 5, 6}}),
      ElementsAre(1, 4, 2, 5, 3, 6));
  // axis i of the result is axis permutation[i] of the input
  EXPECT_THAT(
      valuesOf(kernelOf("ait.permute %a0 {permutation = array<i64: 2, 0, 1>} : "
                        "tensor<1x2x3xf32> -> tensor<3x1x2xf32>",
                        {"tensor<1x2x3xf32>"}, "tensor<3x1x2xf32>"),
               {{1, 2, 3, 4, 5, 6}}),
      ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(MovementTest, Expand) {
  EXPECT_THAT(
      valuesOf(kernelOf("ait.expand %a0 : tensor<2x1xf32> -> tensor<2x2x2xf32>",
                        {"tensor<2x1xf32>"}, "tensor<2x2x2xf32>"),
               {{1, 2}}),
      ElementsAre(1, 1, 2, 2, 1, 1, 2, 2));
}

TEST(MovementTest, Slice) {
  EXPECT_THAT(valuesOf(kernelOf("ait.slice %a0 {starts = array<i64: 1>, steps "
                                "= array<i64: 2>} : tensor<6xf32> -> "
                                "tensor<3xf32>",
                                {"tensor<6xf32>"}, "tensor<3xf32>"),
                       {{0, 1, 2, 3, 4, 5}}),
              ElementsAre(1, 3, 5));
}

TEST(MovementTest, Flip) {
  EXPECT_THAT(valuesOf(kernelOf("ait.flip %a0 {dims = array<i64: 1>} : "
                                "tensor<2x2xf32> -> tensor<2x2xf32>",
                                {"tensor<2x2xf32>"}, "tensor<2x2xf32>"),
                       {{1, 2, 3, 4}}),
              ElementsAre(2, 1, 4, 3));
}

TEST(MovementTest, Concat) {
  EXPECT_THAT(valuesOf(kernelOf("ait.concat %a0, %a1 {dim = 1 : i64} : "
                                "(tensor<2x1xf32>, tensor<2x2xf32>) -> "
                                "tensor<2x3xf32>",
                                {"tensor<2x1xf32>", "tensor<2x2xf32>"},
                                "tensor<2x3xf32>"),
                       {{1, 2}, {3, 4, 5, 6}}),
              ElementsAre(1, 3, 4, 2, 5, 6));
}

TEST(MovementTest, Pad) {
  EXPECT_THAT(
      valuesOf(kernelOf("ait.pad %a0 {low = array<i64: 1>, high = array<i64: "
                        "2>, value = 7.0 : f64} : tensor<2xf32> -> "
                        "tensor<5xf32>",
                        {"tensor<2xf32>"}, "tensor<5xf32>"),
               {{1, 2}}),
      ElementsAre(7, 1, 2, 7, 7));
  // A negative pad takes elements away.
  EXPECT_THAT(
      valuesOf(kernelOf("ait.pad %a0 {low = array<i64: -1>, high = array<i64: "
                        "1>, value = 0.0 : f64} : tensor<3xi32> -> "
                        "tensor<3xi32>",
                        {"tensor<3xi32>"}, "tensor<3xi32>"),
               {{1, 2, 3}}),
      ElementsAre(2, 3, 0));
}

TEST(MovementTest, SliceScatter) {
  EXPECT_THAT(
      valuesOf(kernelOf("ait.slice_scatter %a0, %a1 {starts = array<i64: 1>, "
                        "steps = array<i64: 2>} : (tensor<6xf32>, "
                        "tensor<2xf32>) -> tensor<6xf32>",
                        {"tensor<6xf32>", "tensor<2xf32>"}, "tensor<6xf32>"),
               {{0, 1, 2, 3, 4, 5}, {10, 20}}),
      ElementsAre(0, 10, 2, 20, 4, 5));
}

TEST(MovementTest, Embedding) {
  // Nothing outside the table is read, whatever the index is.
  EXPECT_THAT(valuesOf(kernelOf("ait.embedding %a0, %a1 : (tensor<3x2xf32>, "
                                "tensor<4xi64>) -> tensor<4x2xf32>",
                                {"tensor<3x2xf32>", "tensor<4xi64>"},
                                "tensor<4x2xf32>"),
                       {{1, 2, 3, 4, 5, 6}, {2, 0, 9, -1}}),
              ElementsAre(5, 6, 1, 2, 5, 6, 1, 2));
}

TEST(MovementTest, IndexSelect) {
  EXPECT_THAT(valuesOf(kernelOf("ait.index_select %a0, %a1 {dim = 1 : i64} : "
                                "(tensor<2x3xf32>, tensor<2xi64>) -> "
                                "tensor<2x2xf32>",
                                {"tensor<2x3xf32>", "tensor<2xi64>"},
                                "tensor<2x2xf32>"),
                       {{1, 2, 3, 4, 5, 6}, {-1, 0}}),
              ElementsAre(3, 1, 6, 4));
}

TEST(MovementTest, Gather) {
  EXPECT_THAT(valuesOf(kernelOf("ait.gather %a0, %a1 {dim = 1 : i64} : "
                                "(tensor<2x3xf32>, tensor<2x2xi64>) -> "
                                "tensor<2x2xf32>",
                                {"tensor<2x3xf32>", "tensor<2x2xi64>"},
                                "tensor<2x2xf32>"),
                       {{1, 2, 3, 4, 5, 6}, {0, 2, -1, 1}}),
              ElementsAre(1, 3, 6, 5));
}

TEST(MovementTest, DynamicSizes) {
  const char *text = R"(
    #row = affine_map<()[s0] -> (s0)>
    #pairs = affine_map<()[s0] -> (s0 * 2)>
    func.func @kernel(%x: tensor<?xf32, #row>) -> tensor<?xf32, #pairs> {
      %0 = ait.concat %x, %x {dim = 0 : i64} : (tensor<?xf32, #row>, tensor<?xf32, #row>) -> tensor<?xf32, #pairs>
      return %0 : tensor<?xf32, #pairs>
    })";
  EXPECT_THAT(valuesOf(text, {{1, 2}}, {2}), ElementsAre(1, 2, 1, 2));
  EXPECT_THAT(valuesOf(text, {{}}, {0}), IsEmpty());
}

} // namespace
} // namespace aitune
