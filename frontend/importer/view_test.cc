// Views, movement and indexing, with static and with dynamic sizes.
#include "frontend/importer/trace_maker.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
constexpr DataType kF32 = DataType::kFloat32;
constexpr DataType kI64 = DataType::kInt64;

Argument Int(int64_t value) { return SizeExpression(value); }

TEST(Views, KeepdimFalseIsAReshape) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {3, 4});
  maker.Output(maker.Call(
      "aten::sum.dim_IntList",
      {{"self", x}, {"dim", IntList({-1})}, {"keepdim", false}}, kF32, {3}));
  EXPECT_EQ(maker.Import(),
            "%0 = ait.sum %arg0 {dims = array<i64: 1>} : tensor<3x4xf32> -> "
            "tensor<3x1xf32>\n"
            "%1 = ait.reshape %0 : tensor<3x1xf32> -> tensor<3xf32>\n"
            "func.return %1 : tensor<3xf32>\n");
}

TEST(Views, PermuteCountsNegativeAxesFromTheEnd) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {2, 3, 4});
  maker.Output(maker.Call("aten::permute",
                          {{"self", x}, {"dims", IntList({-1, 0, 1})}}, kF32,
                          {4, 2, 3}));
  EXPECT_THAT(
      maker.Import(),
      HasSubstr("ait.permute %arg0 {permutation = array<i64: 2, 0, 1>}"));
}

TEST(Views, SelectIsASliceAndAReshape) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {3, 4});
  maker.Output(maker.Call("aten::select.int",
                          {{"self", x}, {"dim", Int(1)}, {"index", Int(-1)}},
                          kF32, {3}));
  EXPECT_EQ(maker.Import(),
            "%0 = ait.slice %arg0 {starts = array<i64: 0, 3>, steps = "
            "array<i64: 1, 1>} : tensor<3x4xf32> -> tensor<3x1xf32>\n"
            "%1 = ait.reshape %0 : tensor<3x1xf32> -> tensor<3xf32>\n"
            "func.return %1 : tensor<3xf32>\n");
}

TEST(Views, TheLastEntryOfADynamicAxisIsPickedFromTheEnd) {
  TraceMaker maker;
  SizeExpression n = maker.Symbol(1, 64);
  ValueId x = maker.Input(kF32, {2, n, 4});
  maker.Output(maker.Call("aten::select.int",
                          {{"self", x}, {"dim", Int(1)}, {"index", Int(-1)}},
                          kF32, {2, 4}));
  std::string text = maker.Import();
  EXPECT_THAT(text,
              HasSubstr("ait.iota {dim = 0 : i64, start = -1.000000e+00 : f64, "
                        "step = 1.000000e+00 : f64} : tensor<1xi64>"));
  EXPECT_THAT(text, HasSubstr("ait.index_select"));
  EXPECT_EQ(maker.Reason(), "");
}

TEST(Views, ASliceThatStartsAtADynamicPosition) {
  TraceMaker maker;
  SizeExpression n = maker.Symbol(1, 32);
  ValueId x = maker.Input(kF32, {n, 4}), table = maker.Input(kF32, {64, 4});
  (void)x;
  maker.Output(maker.Call("aten::slice.Tensor",
                          {{"self", table},
                           {"dim", Int(0)},
                           {"start", n},
                           {"end", n * 2},
                           {"step", Int(1)}},
                          kF32, {n, 4}));
  std::string text = maker.Import();
  EXPECT_EQ(maker.Reason(), "");
  EXPECT_THAT(text, HasSubstr("ait.index_select %arg1"));
}

TEST(Views, ASliceOfTheLastAxisFromADynamicPositionIsReadFromTheEnd) {
  TraceMaker maker;
  SizeExpression n = maker.Symbol(8, 64);
  ValueId x = maker.Input(kF32, {2, n});
  maker.Output(maker.Call("aten::slice.Tensor",
                          {{"self", x},
                           {"dim", Int(1)},
                           {"start", n + -5},
                           {"end", n + -2},
                           {"step", Int(1)}},
                          kF32, {2, 3}));
  EXPECT_EQ(maker.Import(),
            "%0 = ait.slice %arg0 {starts = array<i64: 0, 0>, steps = "
            "array<i64: 1, 1>} : tensor<2x?xf32, affine_map<()[s0] -> (2, "
            "s0)>> -> tensor<2x?xf32, affine_map<()[s0] -> (2, s0 - 2)>>\n"
            "%1 = ait.flip %0 {dims = array<i64: 1>} : tensor<2x?xf32, "
            "affine_map<()[s0] -> (2, s0 - 2)>> -> tensor<2x?xf32, "
            "affine_map<()[s0] -> (2, s0 - 2)>>\n"
            "%2 = ait.slice %1 {starts = array<i64: 0, 0>, steps = array<i64: "
            "1, 1>} : tensor<2x?xf32, affine_map<()[s0] -> (2, s0 - 2)>> -> "
            "tensor<2x3xf32>\n"
            "%3 = ait.flip %2 {dims = array<i64: 1>} : tensor<2x3xf32> -> "
            "tensor<2x3xf32>\n"
            "func.return %3 : tensor<2x3xf32>\n");
}

TEST(Views, ASliceOutOfRangeForSomeSizesIsRejected) {
  TraceMaker maker;
  SizeExpression n = maker.Symbol(1, 64);
  ValueId x = maker.Input(kF32, {n, 4});
  maker.Output(maker.Call(
      "aten::narrow",
      {{"self", x}, {"dim", Int(0)}, {"start", Int(2)}, {"length", Int(1)}},
      kF32, {1, 4}));
  maker.Import();
  EXPECT_EQ(maker.Reason(),
            "a slice of axis 0 is out of range for some sizes of the inputs");
}

TEST(Views, SplitIsOneSliceAPart) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {5, 2});
  std::vector<ValueId> parts =
      maker.Call("aten::split.Tensor",
                 {{"self", x}, {"split_size", Int(3)}, {"dim", Int(0)}},
                 {{kF32, {3, 2}}, {kF32, {2, 2}}});
  maker.Output(parts[0]);
  maker.Output(parts[1]);
  std::string text = maker.Import();
  EXPECT_THAT(text, HasSubstr("starts = array<i64: 0, 0>, steps = array<i64: "
                              "1, 1>} : tensor<5x2xf32> -> tensor<3x2xf32>"));
  EXPECT_THAT(text, HasSubstr("starts = array<i64: 3, 0>, steps = array<i64: "
                              "1, 1>} : tensor<5x2xf32> -> tensor<2x2xf32>"));
}

TEST(Views, ReshapeWithDynamicSizes) {
  TraceMaker maker;
  SizeExpression n = maker.Symbol(1, 64);
  ValueId x = maker.Input(kF32, {n, 4, 6});
  maker.Output(maker.Call(
      "aten::view",
      {{"self", x}, {"size", std::vector<SizeExpression>{n * 2, 12}}}, kF32,
      {n * 2, 12}));
  EXPECT_THAT(maker.Import(), HasSubstr("affine_map<()[s0] -> (s0 * 2, 12)>"));
  EXPECT_EQ(maker.Reason(), "");
}

TEST(Movement, CatConvertsAndSkipsEmptyVectors) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {2, 3}), y = maker.Input(kI64, {1, 3}),
          none = maker.Input(kF32, {0});
  maker.Output(maker.Call(
      "aten::cat",
      {{"tensors", std::vector<ValueId>{x, none, y}}, {"dim", Int(-2)}}, kF32,
      {3, 3}));
  EXPECT_EQ(maker.Import(),
            "%0 = ait.convert %arg1 : tensor<1x3xi64> -> tensor<1x3xf32>\n"
            "%1 = ait.concat %arg0, %0 {dim = 0 : i64} : (tensor<2x3xf32>, "
            "tensor<1x3xf32>) -> tensor<3x3xf32>\n"
            "func.return %1 : tensor<3x3xf32>\n");
}

TEST(Movement, RowsOfManyPartsAreJoinedByLibTorch) {
  for (const int64_t count : {128, 129}) {
    TraceMaker maker;
    ValueId x = maker.Input(kF32, {4, 2});
    maker.Output(maker.Call(
        "aten::cat",
        {{"tensors", std::vector<ValueId>(count, x)}, {"dim", Int(1)}}, kF32,
        {4, 2 * count}));
    maker.Import();
    EXPECT_EQ(maker.Reason(), count == 128
                                  ? ""
                                  : "LibTorch joins rows of so many parts "
                                    "faster");
  }
}

TEST(Movement, ReflectedPaddingJoinsPartsOfTheLastAxis) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {2, 5});
  maker.Output(maker.Call("aten::reflection_pad1d",
                          {{"self", x}, {"padding", IntList({2, 1})}}, kF32,
                          {2, 8}));
  std::string text = maker.Import();
  EXPECT_THAT(text, HasSubstr("ait.concat %1, %arg0, %3 {dim = 1 : i64}"));
  EXPECT_THAT(text, HasSubstr("%1 = ait.flip %0"));
  EXPECT_THAT(text, Not(HasSubstr("ait.index_select")));
}

// As long as every size of the range has entries enough.
TEST(Movement, PaddingOfARangeOfSizesJoinsPartsOfTheLastAxis) {
  for (const char* mode : {"reflect", "replicate", "circular"}) {
    for (const auto& [least, joins] :
         std::vector<std::pair<int64_t, bool>>{{3, true}, {1, false}}) {
      TraceMaker maker;
      SizeExpression n = maker.Symbol(least, 64);
      ValueId x = maker.Input(kF32, {2, n});
      maker.Output(maker.Call(
          "aten::pad",
          {{"self", x}, {"pad", IntList({2, 1})}, {"mode", std::string(mode)}},
          kF32, {2, n + 3}));
      std::string text = maker.Import();
      EXPECT_EQ(maker.Reason(), "");
      if (joins || std::string(mode) == "replicate")
        EXPECT_THAT(text, HasSubstr("ait.concat")) << mode;
      else
        EXPECT_THAT(text, Not(HasSubstr("ait.concat"))) << mode;
    }
  }
}

TEST(Movement, ReflectedPaddingOfOtherAxesIsAnIndex) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {2, 5, 4});
  maker.Output(maker.Call("aten::reflection_pad2d",
                          {{"self", x}, {"padding", IntList({0, 0, 2, 1})}},
                          kF32, {2, 8, 4}));
  std::string text = maker.Import();
  EXPECT_THAT(text, HasSubstr("start = -2.000000e+00"));
  EXPECT_THAT(text, HasSubstr("ait.index_select %arg0"));
  EXPECT_THAT(text, Not(HasSubstr("ait.concat")));
}

TEST(Movement, RepeatInterleavesWithoutCopies) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {2, 3});
  maker.Output(maker.Call("aten::repeat",
                          {{"self", x}, {"repeats", IntList({4, 1})}}, kF32,
                          {8, 3}));
  EXPECT_EQ(maker.Import(),
            "%0 = ait.reshape %arg0 : tensor<2x3xf32> -> tensor<1x2x3xf32>\n"
            "%1 = ait.expand %0 : tensor<1x2x3xf32> -> tensor<4x2x3xf32>\n"
            "%2 = ait.reshape %1 : tensor<4x2x3xf32> -> tensor<8x3xf32>\n"
            "func.return %2 : tensor<8x3xf32>\n");
}

TEST(Indexing, OneIndexIsIndexSelect) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {5, 4}), index = maker.Input(kI64, {3});
  maker.Output(
      maker.Call("aten::index.Tensor",
                 {{"self", x}, {"indices", std::vector<ValueId>{-1, index}}},
                 kF32, {5, 3}));
  EXPECT_THAT(maker.Import(),
              HasSubstr("ait.index_select %arg0, %0 {dim = 1 : i64}"));
}

TEST(Indexing, SeveralIndicesMergeTheirAxes) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {5, 4}), row = maker.Input(kI64, {3, 1}),
          column = maker.Input(kI64, {2});
  maker.Output(
      maker.Call("aten::index.Tensor",
                 {{"self", x}, {"indices", std::vector<ValueId>{row, column}}},
                 kF32, {3, 2}));
  std::string text = maker.Import();
  EXPECT_THAT(
      text, HasSubstr("ait.reshape %arg0 : tensor<5x4xf32> -> tensor<20xf32>"));
  EXPECT_THAT(text, HasSubstr("-> tensor<6xf32>"));
  EXPECT_EQ(maker.Reason(), "");
}

TEST(Indexing, WritingOneValueUnderAMaskIsAWhere) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {5, 4, 3}),
          mask = maker.Input(DataType::kBool, {4}),
          value = maker.Input(kF32, {1, 1, 1});
  maker.Output(maker.Call("aten::index_put",
                          {{"self", x},
                           {"indices", std::vector<ValueId>{-1, mask}},
                           {"values", value},
                           {"accumulate", false}},
                          kF32, {5, 4, 3}));
  const std::string text = maker.Import();
  EXPECT_THAT(text, HasSubstr("ait.reshape %arg1 : tensor<4xi1> -> "
                              "tensor<4x1xi1>"));
  EXPECT_THAT(text, HasSubstr("ait.where"));
  EXPECT_EQ(maker.Reason(), "");
}

TEST(Indexing, TriangleIsAComparisonOfPositions) {
  TraceMaker maker;
  SizeExpression n = maker.Symbol(1, 64);
  ValueId x = maker.Input(kF32, {n, n});
  maker.Output(maker.Call("aten::tril", {{"self", x}, {"diagonal", Int(0)}},
                          kF32, {n, n}));
  std::string text = maker.Import();
  EXPECT_THAT(text, HasSubstr("ait.le"));
  EXPECT_THAT(text, HasSubstr("ait.where"));
}

TEST(Creation, ArangeFromADynamicStart) {
  TraceMaker maker;
  SizeExpression n = maker.Symbol(1, 64);
  maker.Input(kF32, {n});
  maker.Output(maker.Call("aten::arange.start", {{"start", n}, {"end", n + 4}},
                          kI64, {4}));
  std::string text = maker.Import();
  EXPECT_THAT(text, HasSubstr("ait.iota"));
  EXPECT_THAT(text, HasSubstr("ait.add"));
  EXPECT_EQ(maker.Reason(), "");
}

}  // namespace
}  // namespace aitune::frontend
