// Contractions, convolutions, attention, normalisation, pooling, resizing and
// recurrent layers.
#include "frontend/importer/trace_maker.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
constexpr DataType kF32 = DataType::kFloat32;
constexpr DataType kBF16 = DataType::kBFloat16;

Argument Int(int64_t value) { return SizeExpression(value); }

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(Contraction, LinearReadsItsWeightTransposedAndAddsTheBias) {
  TraceMaker maker;
  SizeExpression n = maker.Symbol(1, 8);
  ValueId x = maker.Input(kF32, {n, 7, 4}), weight = maker.Weight(kF32, {5, 4}),
          bias = maker.Weight(kF32, {5});
  maker.Output(maker.Call("aten::linear",
                          {{"input", x}, {"weight", weight}, {"bias", bias}},
                          kF32, {n, 7, 5}));
  std::string text = maker.Import();
  EXPECT_THAT(text, HasSubstr("ait.matmul %arg0, %0 {transpose_rhs}"));
  EXPECT_THAT(text, HasSubstr("ait.expand %1 : tensor<5xf32>"));
  EXPECT_THAT(text, HasSubstr("ait.add"));
}

// Its NaN for what is not finite would be lost in a constant 1.
TEST(Normalization, TheSoftmaxOfANumberReadsIt) {
  for (const char* name : {"aten::softmax.int", "aten::log_softmax.int"}) {
    TraceMaker maker;
    const ValueId x = maker.Input(kF32, {});
    maker.Output(maker.Call(
        name, {{"self", x}, {"dim", Int(-1)}, {"dtype", NoneArgument()}}, kF32,
        {}));
    EXPECT_THAT(maker.Import(), HasSubstr("ait.softmax"));
  }
}

TEST(Contraction, MatmulOfVectorsAndOfBatches) {
  auto import = [](std::vector<SizeExpression> lhs,
                   std::vector<SizeExpression> rhs,
                   std::vector<SizeExpression> result) {
    TraceMaker maker;
    ValueId x = maker.Input(kF32, lhs), y = maker.Input(kF32, rhs);
    maker.Output(
        maker.Call("aten::matmul", {{"self", x}, {"other", y}}, kF32, result));
    return maker.Import();
  };
  EXPECT_THAT(
      import({4}, {4}, {}),
      HasSubstr("(tensor<1x4xf32>, tensor<4x1xf32>) -> tensor<1x1xf32>"));
  EXPECT_THAT(
      import({2, 3, 4}, {4, 5}, {2, 3, 5}),
      HasSubstr("(tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>"));
  EXPECT_THAT(import({2, 3, 4}, {1, 4, 5}, {2, 3, 5}),
              HasSubstr("(tensor<2x3x4xf32>, tensor<4x5xf32>)"));
  EXPECT_THAT(import({3, 4}, {2, 4, 5}, {2, 3, 5}),
              HasSubstr("ait.expand %arg0"));
}

TEST(Contraction, AddmmWithoutBetaNeverReadsTheSum) {
  TraceMaker maker;
  ValueId c = maker.Input(kF32, {3, 5}), x = maker.Input(kF32, {3, 4}),
          y = maker.Input(kF32, {4, 5});
  maker.Output(maker.Call("aten::addmm",
                          {{"self", c},
                           {"mat1", x},
                           {"mat2", y},
                           {"beta", Int(0)},
                           {"alpha", Int(1)}},
                          kF32, {3, 5}));
  EXPECT_THAT(maker.Import(), Not(HasSubstr("ait.add")));
}

// float16 may have no number for a product before it is scaled.
TEST(Contraction, ProductsInHalfPrecisionAreScaledAsTheyWereSummed) {
  for (const auto& [alpha, beta] : {std::pair(0.125, 1.0), {1.0, 0.5}}) {
    TraceMaker maker;
    const ValueId c = maker.Input(kBF16, {3, 5}),
                  x = maker.Input(kBF16, {3, 4}),
                  y = maker.Input(kBF16, {4, 5});
    maker.Output(maker.Call("aten::addmm",
                            {{"self", c},
                             {"mat1", x},
                             {"mat2", y},
                             {"beta", beta},
                             {"alpha", alpha}},
                            kBF16, {3, 5}));
    EXPECT_THAT(maker.Import(),
                HasSubstr("ait.convert %0 : tensor<3x5xbf16> -> "
                          "tensor<3x5xf32>\n"));
  }
}

TEST(Contraction, EinsumBecomesAMatmul) {
  TraceMaker maker;
  ValueId q = maker.Input(kF32, {2, 3, 4, 8}),
          k = maker.Input(kF32, {2, 5, 4, 8});
  maker.Output(maker.Call("aten::einsum",
                          {{"equation", std::string("bqhd,bkhd->bhqk")},
                           {"tensors", std::vector<ValueId>{q, k}},
                           {"path", NoneArgument()}},
                          kF32, {2, 4, 3, 5}));
  EXPECT_THAT(maker.Import(),
              HasSubstr("{transpose_rhs} : (tensor<2x4x3x8xf32>, "
                        "tensor<2x4x5x8xf32>) -> tensor<2x4x3x5xf32>"));
}

std::vector<std::pair<std::string, Argument>> ConvolutionArguments(
    ValueId input, ValueId weight, Argument padding, int64_t groups = 1) {
  return {{"input", input},
          {"weight", weight},
          {"bias", NoneArgument()},
          {"stride", IntList({1})},
          {"padding", std::move(padding)},
          {"dilation", IntList({1})},
          {"groups", SizeExpression(groups)}};
}

TEST(Convolution, OneDimensionIsARowOfHeightOne) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {2, 3, 9}),
          weight = maker.Weight(kF32, {4, 3, 3});
  maker.Output(maker.Call("aten::conv1d",
                          ConvolutionArguments(x, weight, IntList({1})), kF32,
                          {2, 4, 9}));
  std::string text = maker.Import();
  EXPECT_THAT(text, HasSubstr("padding = array<i64: 0, 1>"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "(tensor<2x3x1x9xf32>, tensor<4x3x1x3xf32>) -> tensor<2x4x1x9xf32>"));
}

TEST(Convolution, SamePaddingOfEvenKernelsPadsFirst) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {2, 3, 9, 9}),
          weight = maker.Weight(kF32, {4, 3, 2, 3});
  maker.Output(maker.Call("aten::conv2d.padding",
                          ConvolutionArguments(x, weight, std::string("same")),
                          kF32, {2, 4, 9, 9}));
  std::string text = maker.Import();
  EXPECT_THAT(text, HasSubstr("ait.pad %arg0 {high = array<i64: 0, 0, 1, 0>"));
  EXPECT_THAT(text, HasSubstr("padding = array<i64: 0, 1>"));
}

TEST(Convolution, VolumesAreOneOperation) {
  for (int64_t groups : {1, 4}) {
    TraceMaker maker;
    ValueId x = maker.Input(kF32, {2, 4, 5, 6, 6}),
            weight = maker.Weight(kF32, {4, 4 / groups, 3, 1, 3});
    maker.Output(
        maker.Call("aten::conv3d",
                   ConvolutionArguments(x, weight, IntList({1, 0, 0}), groups),
                   kF32, {2, 4, 5, 6, 4}));
    const std::string text = maker.Import();
    EXPECT_EQ(maker.Reason(), "");
    EXPECT_EQ(Count(text, "ait.convolution"), 1);
    EXPECT_THAT(text, HasSubstr("padding = array<i64: 1, 0, 0>"));
    EXPECT_THAT(text, HasSubstr(absl::StrCat(
                          "(tensor<2x4x5x6x6xf32>, tensor<4x", 4 / groups,
                          "x3x1x3xf32>) -> ", "tensor<2x4x5x6x4xf32>")));
  }
}

TEST(Attention, GroupedHeadsAreRepeatedAndTheScaleIsTheDefault) {
  TraceMaker maker;
  ValueId q = maker.Input(kF32, {1, 4, 6, 16}),
          k = maker.Input(kF32, {1, 2, 6, 16}),
          v = maker.Input(kF32, {1, 2, 6, 16});
  maker.Output(maker.Call("aten::scaled_dot_product_attention",
                          {{"query", q},
                           {"key", k},
                           {"value", v},
                           {"attn_mask", NoneArgument()},
                           {"dropout_p", 0.0},
                           {"is_causal", true},
                           {"scale", NoneArgument()},
                           {"enable_gqa", true}},
                          kF32, {1, 4, 6, 16}));
  std::string text = maker.Import();
  EXPECT_THAT(
      text,
      HasSubstr(
          "ait.expand %0 : tensor<1x2x1x6x16xf32> -> tensor<1x2x2x6x16xf32>"));
  EXPECT_THAT(text, HasSubstr("{is_causal, scale = 2.500000e-01 : f64}"));
}

TEST(Normalization, BatchNormOfAModelInEvalModeIsAScaleAndAShift) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {2, 3, 4, 4});
  ValueId weight = maker.Weight(kF32, {3}), bias = maker.Weight(kF32, {3});
  ValueId mean = maker.Weight(kF32, {3}), variance = maker.Weight(kF32, {3});
  maker.Output(maker.Call("aten::batch_norm",
                          {{"input", x},
                           {"weight", weight},
                           {"bias", bias},
                           {"running_mean", mean},
                           {"running_var", variance},
                           {"training", false},
                           {"momentum", 0.1},
                           {"eps", 1e-5},
                           {"cudnn_enabled", false}},
                          kF32, {2, 3, 4, 4}));
  std::string text = maker.Import();
  EXPECT_THAT(text, HasSubstr("ait.rsqrt"));
  // On three channels until the input is touched.
  EXPECT_EQ(Count(text, ": tensor<2x3x4x4xf32>\n"), 3) << text;
}

TEST(Normalization, MixedDtypesMeetInTheWiderOne) {
  TraceMaker maker;
  ValueId x = maker.Input(kBF16, {2, 4}), weight = maker.Weight(kF32, {4});
  maker.Output(maker.Call("aten::layer_norm",
                          {{"input", x},
                           {"normalized_shape", IntList({4})},
                           {"weight", weight},
                           {"bias", NoneArgument()},
                           {"eps", 1e-5},
                           {"cudnn_enable", false}},
                          kBF16, {2, 4}));
  std::string text = maker.Import();
  EXPECT_THAT(text, HasSubstr("ait.layer_norm"));
  EXPECT_THAT(text,
              HasSubstr("ait.convert %2 {ait.rounds} : tensor<2x4xf32> -> "
                        "tensor<2x4xbf16>"));
}

TEST(Pooling, AdaptiveToOneIsAMeanAndToDivisorsAPool) {
  auto import = [](std::vector<SizeExpression> result) {
    TraceMaker maker;
    ValueId x = maker.Input(kF32, {1, 2, 8, 8});
    maker.Output(maker.Call("aten::adaptive_avg_pool2d",
                            {{"self", x}, {"output_size", IntList({1, 1})}},
                            kF32, result));
    return maker.Import();
  };
  EXPECT_THAT(import({1, 2, 1, 1}),
              HasSubstr("ait.mean %arg0 {dims = array<i64: 2, 3>}"));
  EXPECT_THAT(import({1, 2, 4, 2}),
              HasSubstr("kernel_size = array<i64: 2, 4>"));
  EXPECT_EQ(Count(import({1, 2, 3, 8}), "ait.mean"), 3);
}

// The means along one axis are not rounded before those along the other.
TEST(Pooling, UnevenMeansAreRoundedOnce) {
  TraceMaker maker;
  ValueId x = maker.Input(kBF16, {1, 2, 7, 9});
  maker.Output(maker.Call("aten::adaptive_avg_pool2d",
                          {{"self", x}, {"output_size", IntList({3, 7})}},
                          kBF16, {1, 2, 3, 7}));
  const std::string text = maker.Import();
  EXPECT_EQ(Count(text, "ait.mean"), 10);
  EXPECT_EQ(Count(text, "ait.convert"), 2);
}

// Planes along depth are a part of the batch, as channels-last order has them;
// windows of one element are none.
TEST(Pooling, VolumesArePooledByPlanesThenAlongDepth) {
  auto import = [](int64_t along_depth, int64_t along_rows, int64_t depth,
                   int64_t size) {
    const auto kernel = IntList({along_depth, along_rows, along_rows});
    TraceMaker maker;
    ValueId x = maker.Input(kF32, {2, 3, 4, 6, 6});
    maker.Output(maker.Call("aten::max_pool3d",
                            {{"self", x},
                             {"kernel_size", kernel},
                             {"stride", kernel},
                             {"padding", IntList({0, 0, 0})},
                             {"dilation", IntList({1, 1, 1})},
                             {"ceil_mode", false}},
                            kF32, {2, 3, depth, size, size}));
    const std::string text = maker.Import();
    EXPECT_EQ(maker.Reason(), "");
    return text;
  };
  const std::string both = import(2, 3, 2, 2);
  EXPECT_EQ(Count(both, "ait.max_pool2d"), 2);
  EXPECT_THAT(both, HasSubstr("tensor<8x3x6x6xf32> -> tensor<8x3x2x2xf32>"));
  EXPECT_THAT(both, HasSubstr("tensor<2x3x4x4xf32> -> tensor<2x3x2x4xf32>"));
  EXPECT_EQ(Count(import(1, 3, 4, 2), "ait.max_pool2d"), 1);
  EXPECT_EQ(Count(import(2, 1, 2, 6), "ait.max_pool2d"), 1);
}

TEST(Resize, BilinearKeepsAtensScale) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {1, 2, 4, 4});
  maker.Output(maker.Call("aten::upsample_bilinear2d.vec",
                          {{"input", x},
                           {"output_size", IntList({8, 7})},
                           {"align_corners", true},
                           {"scale_factors", NoneArgument()}},
                          kF32, {1, 2, 8, 7}));
  EXPECT_THAT(maker.Import(), HasSubstr("scale_w = 5.000000e-01 : f64"));
}

TEST(Recurrent, StatesOfAnotherBatchAreLeftToLibTorch) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {2, 5, 3}), h = maker.Input(kF32, {1, 1, 4});
  std::vector<ValueId> params = {maker.Weight(kF32, {12, 3}),
                                 maker.Weight(kF32, {12, 4})};
  const std::vector<ValueId> results =
      maker.Call("aten::gru.input",
                 {{"input", x},
                  {"hx", h},
                  {"params", params},
                  {"has_biases", false},
                  {"num_layers", Int(1)},
                  {"dropout", 0.0},
                  {"train", false},
                  {"bidirectional", false},
                  {"batch_first", true}},
                 {{kF32, {2, 5, 4}}, {kF32, {1, 2, 4}}});
  for (ValueId result : results) maker.Output(result);
  maker.Import();
  EXPECT_EQ(maker.Reason(),
            "the sizes of the states or of the weights don't fit the input's");
}

TEST(Recurrent, AnLstmHasOneProductForAllStepsAndOneForEach) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {2, 5, 3}), h = maker.Input(kF32, {1, 2, 4}),
          c = maker.Input(kF32, {1, 2, 4});
  std::vector<ValueId> params = {
      maker.Weight(kF32, {16, 3}), maker.Weight(kF32, {16, 4}),
      maker.Weight(kF32, {16}), maker.Weight(kF32, {16})};
  std::vector<ValueId> results =
      maker.Call("aten::lstm.input",
                 {{"input", x},
                  {"hx", std::vector<ValueId>{h, c}},
                  {"params", params},
                  {"has_biases", true},
                  {"num_layers", Int(1)},
                  {"dropout", 0.0},
                  {"train", false},
                  {"bidirectional", false},
                  {"batch_first", true}},
                 {{kF32, {2, 5, 4}}, {kF32, {1, 2, 4}}, {kF32, {1, 2, 4}}});
  for (ValueId result : results) maker.Output(result);
  std::string text = maker.Import();
  EXPECT_EQ(maker.Reason(), "");
  EXPECT_EQ(Count(text, "ait.matmul"), 1 + 5);
  EXPECT_THAT(
      text,
      HasSubstr("(tensor<5x2x3xf32>, tensor<16x3xf32>) -> tensor<5x2x16xf32>"));
  EXPECT_EQ(Count(text, "ait.tanh"), 2 * 5);
}

}  // namespace
}  // namespace aitune::frontend
