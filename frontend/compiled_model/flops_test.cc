#include "frontend/compiled_model/flops.h"

#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

// A trace with one operator, built from sizes.
class Builder {
 public:
  ValueId Tensor(std::vector<SizeExpression> sizes) {
    TraceValue value;
    value.type.sizes = std::move(sizes);
    trace_.values.push_back(value);
    return static_cast<ValueId>(trace_.values.size() - 1);
  }
  ValueId Opaque() {
    TraceValue value;
    value.kind = TraceValue::Kind::kOpaque;
    trace_.values.push_back(value);
    return static_cast<ValueId>(trace_.values.size() - 1);
  }
  double Count(const std::string& name,
               std::vector<std::pair<std::string, Argument>> arguments,
               std::vector<SizeExpression> result,
               std::vector<int64_t> symbols = {}) {
    TraceOp op;
    op.name = name;
    for (auto& [argument, value] : arguments) {
      op.argument_names.push_back(argument);
      op.arguments.push_back(value);
    }
    op.results = {Tensor(std::move(result))};
    is_unknown_ = HasUnknownFlops(trace_, op);
    return CountFlops(trace_, op, symbols);
  }
  // Whether that of the last operator can't be known.
  bool is_unknown() const { return is_unknown_; }

 private:
  Trace trace_;
  bool is_unknown_ = false;
};

TEST(CountFlops, LinearLayersWhoseWeightsArePacked) {
  for (const char* name :
       {"quantized::linear_dynamic", "quantized::linear_relu_dynamic",
        "quantized::linear_dynamic_fp16"}) {
    Builder b;
    EXPECT_EQ(
        b.Count(name, {{"X", b.Tensor({3, 8})}, {"W_prepack", b.Opaque()}},
                {3, 16}),
        2.0 * 3 * 16 * 8)
        << name;
    EXPECT_FALSE(b.is_unknown()) << name;
    // As traces have it, which have no objects.
    EXPECT_EQ(
        b.Count(name, {{"values", std::vector<ValueId>{b.Tensor({3, 8})}}},
                {3, 16}),
        2.0 * 3 * 16 * 8)
        << name;
    EXPECT_FALSE(b.is_unknown()) << name;
  }
  // Of tensors of LibTorch's quantised types, and of packed filters, no sizes
  // are known.
  Builder b;
  EXPECT_EQ(b.Count("quantized::linear",
                    {{"X", b.Opaque()}, {"W_prepack", b.Opaque()}}, {3, 16}),
            0);
  EXPECT_TRUE(b.is_unknown());
  b.Count("quantized::conv2d_dynamic",
          {{"qx", b.Tensor({1, 3, 8, 8})}, {"packed_weight", b.Opaque()}},
          {1, 4, 6, 6});
  EXPECT_TRUE(b.is_unknown());
  b.Count("aten::quantized_lstm",
          {{"values", std::vector<ValueId>{b.Tensor({5, 2, 4}), b.Opaque()}}},
          {5, 2, 8});
  EXPECT_TRUE(b.is_unknown());
  // Packing computes nothing.
  EXPECT_EQ(
      b.Count("quantized::linear_prepack", {{"W", b.Tensor({16, 8})}}, {16, 8}),
      0);
  EXPECT_FALSE(b.is_unknown());
}

TEST(CountFlops, LinearWithDynamicBatch) {
  Builder b;
  const SizeExpression s0 = SizeExpression::Symbol(0);
  EXPECT_EQ(
      b.Count("aten::linear",
              {{"input", b.Tensor({s0, 8})}, {"weight", b.Tensor({16, 8})}},
              {s0, 16}, {3}),
      2.0 * 3 * 16 * 8);
}

TEST(CountFlops, AddmmUsesTheProductsOperand) {
  Builder b;
  EXPECT_EQ(b.Count("aten::addmm",
                    {{"self", b.Tensor({16})},
                     {"mat1", b.Tensor({4, 8})},
                     {"mat2", b.Tensor({8, 16})}},
                    {4, 16}),
            2.0 * 4 * 16 * 8);
}

TEST(CountFlops, GroupedConvolution) {
  Builder b;
  EXPECT_EQ(b.Count("aten::_convolution",
                    {{"input", b.Tensor({1, 8, 6, 6})},
                     {"weight", b.Tensor({16, 2, 3, 3})},
                     {"transposed", false}},
                    {1, 16, 4, 4}),
            2.0 * 16 * 16 * 2 * 9);
}

TEST(CountFlops, TransposedConvolution) {
  Builder b;
  EXPECT_EQ(b.Count("aten::conv_transpose2d",
                    {{"input", b.Tensor({1, 8, 4, 4})},
                     {"weight", b.Tensor({8, 16, 3, 3})}},
                    {1, 16, 6, 6}),
            2.0 * 8 * 16 * 16 * 9);
}

TEST(CountFlops, Attention) {
  Builder b;
  const ValueId q = b.Tensor({2, 4, 10, 16}), k = b.Tensor({2, 4, 12, 16}),
                v = b.Tensor({2, 4, 12, 8});
  EXPECT_EQ(b.Count("aten::scaled_dot_product_attention",
                    {{"query", q}, {"key", k}, {"value", v}}, {2, 4, 10, 8}),
            2.0 * 8 * 10 * 12 * (16 + 8));
}

TEST(CountFlops, MultiHeadAttentionIsItsParts) {
  Builder b;
  const ValueId x = b.Tensor({2, 10, 16});
  const double projections = 4 * 2.0 * 2 * 10 * 16 * 16;
  const double attention = 2 * 2.0 * 2 * 10 * 10 * 16;
  EXPECT_EQ(b.Count("aten::_native_multi_head_attention",
                    {{"query", x}, {"key", x}, {"value", x}}, {2, 10, 16}),
            projections + attention);
}

TEST(CountFlops, Einsum) {
  Builder b;
  const std::vector<ValueId> tensors = {b.Tensor({2, 3, 4}),
                                        b.Tensor({2, 4, 5})};
  EXPECT_EQ(
      b.Count("aten::einsum",
              {{"equation", std::string("bij,bjk->bik")}, {"tensors", tensors}},
              {2, 3, 5}),
      2.0 * 2 * 3 * 4 * 5);
}

TEST(CountFlops, OfExpertsEachRowMeetsOne) {
  Builder b;
  const ValueId rows = b.Tensor({10, 8}), experts = b.Tensor({4, 8, 6}),
                offsets = b.Tensor({4});
  EXPECT_EQ(
      b.Count("aten::_grouped_mm",
              {{"self", rows}, {"mat2", experts}, {"offs", offsets}}, {10, 6}),
      2.0 * 10 * 8 * 6);
  EXPECT_EQ(
      b.Count("aten::_grouped_mm",
              {{"self", b.Tensor({4, 10, 8})}, {"mat2", experts}}, {4, 10, 6}),
      4 * 2.0 * 10 * 8 * 6);
}

TEST(CountFlops, LstmCountsItsWeightsForEachStep) {
  Builder b;
  const std::vector<ValueId> params = {b.Tensor({32, 8}), b.Tensor({32, 8}),
                                       b.Tensor({32}), b.Tensor({32})};
  EXPECT_EQ(
      b.Count("aten::lstm",
              {{"input", b.Tensor({1, 7, 8})}, {"params", params}}, {1, 7, 8}),
      2.0 * (2 * 32 * 8) * 7);
}

TEST(CountFlops, PointwiseIsFree) {
  Builder b;
  EXPECT_EQ(b.Count("aten::add",
                    {{"self", b.Tensor({8})}, {"other", b.Tensor({8})}}, {8}),
            0);
}

}  // namespace
}  // namespace aitune::frontend
