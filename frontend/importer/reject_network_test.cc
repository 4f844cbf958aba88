// Every builder of convolutions, pools, norms, attention and recurrent layers
// that can't take a call says why: one case a reason.
#include <cmath>

#include "frontend/importer/rejections.h"

namespace aitune::frontend {
namespace {

TEST_P(Rejections, SayWhy) { ExpectRejected(GetParam()); }

void Lstm(TraceMaker& maker, const std::string& name, int64_t steps,
          bool dynamic, int weights, bool train) {
  SizeExpression time = dynamic ? maker.Symbol(1, 9) : SizeExpression(steps);
  ValueId x = maker.Input(kF32, {2, time, 3}), h = maker.Input(kF32, {1, 2, 4}),
          c = maker.Input(kF32, {1, 2, 4});
  std::vector<ValueId> params;
  const std::vector<Sizes> sizes = {{16, 3}, {16, 4}, {16}, {16}};
  for (int i = 0; i < weights; ++i)
    params.push_back(maker.Weight(kF32, sizes[i]));
  auto results =
      maker.Call(name,
                 {{"input", x},
                  {"hx", std::vector<ValueId>{h, c}},
                  {"params", params},
                  {"has_biases", true},
                  {"num_layers", Int(1)},
                  {"dropout", 0.5},
                  {"train", train},
                  {"bidirectional", false},
                  {"batch_first", true}},
                 {{kF32, {2, time, 4}}, {kF32, {1, 2, 4}}, {kF32, {1, 2, 4}}});
  maker.Output(results[0]);
}

const Arguments kConv = {{"bias", None()},
                         {"stride", IntList({1})},
                         {"padding", IntList({0})},
                         {"dilation", IntList({1})},
                         {"groups", Int(1)}};
const Arguments kPool = {{"kernel_size", IntList({2})},
                         {"stride", IntList({})},
                         {"padding", IntList({0})},
                         {"dilation", IntList({1})},
                         {"ceil_mode", false}};
const Arguments kAttention = {{"attn_mask", None()},
                              {"dropout_p", 0.0},
                              {"is_causal", false},
                              {"scale", None()},
                              {"enable_gqa", true}};

Arguments With(Arguments arguments, const std::string& name, Argument value) {
  for (auto& [known, argument] : arguments) {
    if (known == name) argument = std::move(value);
  }
  return arguments;
}

INSTANTIATE_TEST_SUITE_P(
    Networks, Rejections,
    ::testing::Values(
        Case{"aten::addmv", "alpha is 0",
             [](TraceMaker& maker, const std::string& name) {
               ValueId c = maker.Input(kF32, {3}),
                       x = maker.Input(kF32, {3, 4}),
                       y = maker.Input(kF32, {4});
               maker.Output(maker.Call(name,
                                       {{"self", c},
                                        {"mat", x},
                                        {"vec", y},
                                        {"beta", Int(1)},
                                        {"alpha", Int(0)}},
                                       kF32, {3}));
             }},
        Case{"aten::addmm", "alpha is 0",
             [](TraceMaker& maker, const std::string& name) {
               ValueId c = maker.Input(kBF16, {2}),
                       x = maker.Input(kBF16, {3, 4}),
                       y = maker.Input(kBF16, {4, 2});
               maker.Output(maker.Call(name,
                                       {{"self", c},
                                        {"mat1", x},
                                        {"mat2", y},
                                        {"beta", Int(1)},
                                        {"alpha", Int(0)}},
                                       kBF16, {3, 2}));
             }},
        Case{"aten::mm", "products of integer matrices",
             OnTensors({{"self", kI64, {2, 3}}, {"mat2", kI64, {3, 4}}}, {},
                       {2, 4}, kI64)},
        Case{"aten::mm", "doesn't fit",
             OnTensors({{"self", kF32, {2, 3}}, {"mat2", kF32, {4, 5}}}, {},
                       {2, 5})},
        Case{"aten::einsum", "the equation holds '#'",
             OnList("tensors", {{3, 3}},
                    {{"equation", std::string("i#->i")}, {"path", None()}},
                    {3})},
        Case{"aten::einsum", "doesn't name each operand",
             OnList("tensors", {{3, 3}},
                    {{"equation", std::string("ij,jk->ik")}, {"path", None()}},
                    {3, 3})},
        Case{"aten::einsum", "the output has a label that no operand has",
             OnList("tensors", {{3, 3}},
                    {{"equation", std::string("ij->k")}, {"path", None()}},
                    {3})},
        Case{"aten::conv2d", "must be of one floating dtype",
             OnTensors({{"input", kF32, {1, 3, 8, 8}},
                        {"weight", DataType::kBFloat16, {4, 3, 3, 3}}},
                       kConv, {1, 4, 6, 6})},
        Case{"aten::conv2d", "padding 'full' is unknown",
             OnTensors({{"input", kF32, {1, 3, 8, 8}},
                        {"weight", kF32, {4, 3, 3, 3}}},
                       With(kConv, "padding", std::string("full")),
                       {1, 4, 6, 6})},
        Case{
            "aten::conv2d", "input and filter don't fit in rank",
            OnTensors({{"input", kF32, {8, 8}}, {"weight", kF32, {4, 3, 3, 3}}},
                      kConv, {4, 6, 6})},
        Case{"aten::conv2d", "the importer made an invalid operation",
             OnTensors({{"input", kF32, {1, 3, 8, 8}},
                        {"weight", kF32, {4, 3, 3, 3}}},
                       kConv, {1, 4, 7, 6})},
        Case{"aten::scaled_dot_product_attention", "dropout is random",
             OnTensors({{"query", kF32, {1, 2, 4, 8}},
                        {"key", kF32, {1, 2, 4, 8}},
                        {"value", kF32, {1, 2, 4, 8}}},
                       With(kAttention, "dropout_p", 0.5), {1, 2, 4, 8})},
        Case{"aten::scaled_dot_product_attention",
             "don't divide those of the query",
             OnTensors({{"query", kF32, {1, 3, 4, 8}},
                        {"key", kF32, {1, 2, 4, 8}},
                        {"value", kF32, {1, 2, 4, 8}}},
                       kAttention, {1, 3, 4, 8})},
        Case{"aten::batch_norm", "training mode",
             OnTensors({{"input", kF32, {2, 3}}},
                       {{"weight", None()},
                        {"bias", None()},
                        {"running_mean", None()},
                        {"running_var", None()},
                        {"training", true},
                        {"momentum", 0.1},
                        {"eps", 1e-5}},
                       {2, 3})},
        Case{"aten::batch_norm", "no running statistics",
             OnTensors({{"input", kF32, {2, 3}}},
                       {{"weight", None()},
                        {"bias", None()},
                        {"running_mean", None()},
                        {"running_var", None()},
                        {"training", false},
                        {"momentum", 0.1},
                        {"eps", 1e-5}},
                       {2, 3})},
        Case{"aten::layer_norm", "is not the input's last sizes",
             OnSelf({2, 3},
                    {{"normalized_shape", IntList({4})},
                     {"weight", None()},
                     {"bias", None()},
                     {"eps", 1e-5}},
                    {2, 3}, kF32, kF32, "input")},
        Case{"aten::group_norm", "don't divide the channels",
             OnSelf({2, 4, 5},
                    {{"num_groups", Int(3)},
                     {"weight", None()},
                     {"bias", None()},
                     {"eps", 1e-5}},
                    {2, 4, 5}, kF32, kF32, "input")},
        Case{"aten::max_pool2d", "pooling of integers",
             OnSelf({1, 1, 4, 4}, kPool, {1, 1, 2, 2}, kI64, kI64)},
        Case{"aten::max_pool2d", "an input of rank 2",
             OnSelf({4, 4}, kPool, {2, 2})},
        Case{"aten::max_pool2d_with_indices", "positions of the greatest",
             [](TraceMaker& maker, const std::string& name) {
               Arguments arguments = {
                   {"self", maker.Input(kF32, {1, 1, 4, 4})}};
               arguments.insert(arguments.end(), kPool.begin(), kPool.end());
               auto results =
                   maker.Call(name, arguments,
                              {{kF32, {1, 1, 2, 2}}, {kI64, {1, 1, 2, 2}}});
               maker.Output(results[1]);
             }},
        Case{"aten::adaptive_avg_pool2d", "adaptive pooling of a dynamic axis",
             [](TraceMaker& maker, const std::string& name) {
               SizeExpression n = maker.Symbol(4, 9);
               ValueId x = maker.Input(kF32, {1, 1, n, n});
               maker.Output(maker.Call(
                   name, {{"self", x}, {"output_size", IntList({3, 3})}}, kF32,
                   {1, 1, 3, 3}));
             }},
        Case{"aten::upsample_bilinear2d.vec", "interpolation of integers",
             OnSelf({1, 1, 4, 4},
                    {{"output_size", IntList({8, 8})},
                     {"align_corners", false},
                     {"scale_factors", None()}},
                    {1, 1, 8, 8}, kI64, kI64, "input")},
        Case{"aten::grid_sampler", "interpolation mode 2",
             OnTensors({{"input", kF32, {1, 1, 4, 4}},
                        {"grid", kF32, {1, 2, 2, 2}}},
                       {{"interpolation_mode", Int(2)},
                        {"padding_mode", Int(0)},
                        {"align_corners", false}},
                       {1, 1, 2, 2})},
        Case{"aten::lstm.input", "the number of steps depends on the sizes",
             [](TraceMaker& maker, const std::string& name) {
               Lstm(maker, name, 0, true, 4, false);
             }},
        Case{"aten::lstm.input", "too many to unroll",
             [](TraceMaker& maker, const std::string& name) {
               Lstm(maker, name, 5000, false, 4, false);
             }},
        Case{"aten::lstm.input", "3 weights don't fit 1 layers",
             [](TraceMaker& maker, const std::string& name) {
               Lstm(maker, name, 5, false, 3, false);
             }},
        Case{"aten::lstm.input", "dropout in training mode",
             [](TraceMaker& maker, const std::string& name) {
               Lstm(maker, name, 5, false, 4, true);
             }},
        Case{"aten::lstm.data", "packed sequences",
             OnSelf({5, 3}, {{"batch_sizes", None()}}, {5, 4}, kF32, kF32,
                    "data")}));

}  // namespace
}  // namespace aitune::frontend
