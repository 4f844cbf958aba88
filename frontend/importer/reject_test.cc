// Every builder that can't take a call says why. One case a reason.
#include <cmath>
#include <functional>

#include "frontend/importer/trace_maker.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;
constexpr DataType kF32 = DataType::kFloat32;
constexpr DataType kBF16 = DataType::kBFloat16;
constexpr DataType kI64 = DataType::kInt64;
constexpr DataType kBool = DataType::kBool;

using Arguments = std::vector<std::pair<std::string, Argument>>;
using Sizes = std::vector<SizeExpression>;

Argument Int(int64_t value) { return SizeExpression(value); }
Argument None() { return NoneArgument(); }

struct Case {
  std::string name;    // of the operator
  std::string reason;  // a part of it
  // Makes the call.
  std::function<void(TraceMaker&, const std::string&)> make;
};

// A call of one float32 input "self" of sizes `from` with more arguments.
std::function<void(TraceMaker&, const std::string&)> OnSelf(
    Sizes from, Arguments more, Sizes to, DataType dtype = kF32,
    DataType self_dtype = kF32, const std::string& self = "self") {
  return [=](TraceMaker& maker, const std::string& name) {
    Arguments arguments = {{self, maker.Input(self_dtype, from)}};
    arguments.insert(arguments.end(), more.begin(), more.end());
    maker.Output(maker.Call(name, arguments, dtype, to));
  };
}

// A call of inputs of these names, dtypes and sizes, and other arguments.
struct Tensor {
  std::string name;
  DataType dtype;
  Sizes sizes;
};
std::function<void(TraceMaker&, const std::string&)> OnTensors(
    std::vector<Tensor> tensors, Arguments more, Sizes to,
    DataType dtype = kF32) {
  return [=](TraceMaker& maker, const std::string& name) {
    Arguments arguments;
    for (const Tensor& tensor : tensors)
      arguments.emplace_back(tensor.name,
                             maker.Input(tensor.dtype, tensor.sizes));
    arguments.insert(arguments.end(), more.begin(), more.end());
    maker.Output(maker.Call(name, arguments, dtype, to));
  };
}

// A call of one list argument of float32 inputs.
std::function<void(TraceMaker&, const std::string&)> OnList(
    const std::string& list, std::vector<Sizes> tensors, Arguments more,
    Sizes to) {
  return [=](TraceMaker& maker, const std::string& name) {
    std::vector<ValueId> ids;
    for (const Sizes& sizes : tensors) ids.push_back(maker.Input(kF32, sizes));
    Arguments arguments = {{list, ids}};
    arguments.insert(arguments.end(), more.begin(), more.end());
    maker.Output(maker.Call(name, arguments, kF32, to));
  };
}

class Rejections : public ::testing::TestWithParam<Case> {};

TEST_P(Rejections, SayWhy) {
  TraceMaker maker;
  GetParam().make(maker, GetParam().name);
  EXPECT_THAT(maker.Import(), HasSubstr("ait.fallback"));
  EXPECT_THAT(maker.Reason(), HasSubstr(GetParam().reason));
}

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
    Arguments, Rejections,
    ::testing::Values(
        Case{"aten::relu", "argument 'self' is not in the schema, not a tensor",
             [](TraceMaker& maker, const std::string& name) {
               maker.Output(maker.Call(name, {}, kF32, {2}));
             }},
        Case{"aten::relu", "argument 'self' is None",
             [](TraceMaker& maker, const std::string& name) {
               maker.Output(maker.Call(name, {{"self", None()}}, kF32, {2}));
             }},
        Case{"aten::softmax.int",
             "argument 'dim' is 2, which is no axis of a tensor of rank 2",
             OnSelf({2, 3}, {{"dim", Int(2)}, {"dtype", None()}}, {2, 3})},
        Case{"aten::softmax.int", "argument 'dim' is a float, not an int",
             OnSelf({2, 3}, {{"dim", 1.5}, {"dtype", None()}}, {2, 3})},
        Case{"aten::sum.dim_IntList", "argument 'dim' names an axis twice",
             OnSelf({2, 3}, {{"dim", IntList({1, -1})}, {"keepdim", false}},
                    {2})},
        Case{"aten::sum.dim_IntList",
             "argument 'dim' holds 5, which is no axis",
             OnSelf({2, 3}, {{"dim", IntList({5})}, {"keepdim", false}}, {2})},
        Case{"aten::cat",
             "argument 'tensors' is a tensor, not a list of tensors",
             OnSelf({2, 3}, {{"dim", Int(0)}}, {2, 3}, kF32, kF32, "tensors")},
        Case{"aten::mul.Scalar", "argument 'other' is a string, not a number",
             OnSelf({2}, {{"other", std::string("x")}}, {2})},
        Case{"aten::leaky_relu",
             "argument 'negative_slope' is a number that depends on data",
             OnTensors({{"self", kF32, {2}}, {"negative_slope", kF32, {}}}, {},
                       {2})},
        Case{"aten::leaky_relu",
             "argument 'negative_slope' depends on the sizes of the inputs",
             [](TraceMaker& maker, const std::string& name) {
               SizeExpression n = maker.Symbol(1, 9);
               ValueId x = maker.Input(kF32, {n});
               maker.Output(maker.Call(
                   name, {{"self", x}, {"negative_slope", n}}, kF32, {n}));
             }},
        Case{"aten::roll",
             "argument 'shifts' depends on the sizes of the inputs",
             [](TraceMaker& maker, const std::string& name) {
               SizeExpression n = maker.Symbol(1, 9);
               ValueId x = maker.Input(kF32, {n});
               maker.Output(
                   maker.Call(name,
                              {{"self", x},
                               {"shifts", std::vector<SizeExpression>{n}},
                               {"dims", IntList({0})}},
                              kF32, {n}));
             }},
        Case{"aten::add.Scalar", "may be negative",
             [](TraceMaker& maker, const std::string& name) {
               SizeExpression n = maker.Symbol(1, 9);
               ValueId x = maker.Input(kF32, {n});
               maker.Output(maker.Call(
                   name, {{"self", x}, {"other", n + -3}, {"alpha", Int(1)}},
                   kF32, {n}));
             }}));

INSTANTIATE_TEST_SUITE_P(
    Pointwise, Rejections,
    ::testing::Values(
        Case{"aten::dropout", "dropout in training mode is random",
             OnSelf({2}, {{"p", 0.5}, {"train", true}}, {2}, kF32, kF32,
                    "input")},
        Case{"aten::round.decimals", "rounding to decimals",
             OnSelf({2}, {{"decimals", Int(2)}}, {2})},
        Case{"aten::sub.Tensor", "subtraction is not defined on bool",
             OnTensors({{"self", kBool, {2}}, {"other", kBool, {2}}},
                       {{"alpha", Int(1)}}, {2}, kBool)},
        Case{"aten::fmod.Tensor", "not defined on bool",
             OnTensors({{"self", kBool, {2}}, {"other", kBool, {2}}}, {}, {2},
                       kBool)},
        Case{"aten::div.Tensor_mode", "rounding mode 'up' is unknown",
             OnTensors({{"self", kF32, {2}}, {"other", kF32, {2}}},
                       {{"rounding_mode", std::string("up")}}, {2})},
        Case{"aten::pow.Tensor_Tensor",
             "powers of integers are supported for constant exponents",
             OnTensors({{"self", kI64, {2}}, {"exponent", kI64, {2}}}, {}, {2},
                       kI64)},
        Case{"aten::__lshift__.Scalar",
             "shifts are supported for integers only",
             OnSelf({2}, {{"other", Int(1)}}, {2})},
        Case{"aten::gelu", "approximation 'sine' is unknown",
             OnSelf({2}, {{"approximate", std::string("sine")}}, {2})},
        Case{"aten::celu", "alpha is 0", OnSelf({2}, {{"alpha", 0.0}}, {2})},
        Case{"aten::rrelu", "rrelu in training mode is random",
             OnSelf({2}, {{"lower", 0.1}, {"upper", 0.3}, {"training", true}},
                    {2})},
        Case{"aten::prelu", "a weight per channel needs an input with channels",
             OnTensors({{"self", kF32, {4}}, {"weight", kF32, {4}}}, {}, {4})},
        Case{"aten::glu", "rank 0 can't be halved",
             OnSelf({}, {{"dim", Int(0)}}, {})}));

INSTANTIATE_TEST_SUITE_P(
    ViewsAndMovement, Rejections,
    ::testing::Values(
        Case{"aten::view.dtype", "reinterpreting the bits",
             OnSelf({2}, {{"dtype", ScalarTypeArgument{kF32}}}, {2})},
        Case{"aten::view", "differ in element count",
             OnSelf({2, 3}, {{"size", IntList({7})}}, {7})},
        Case{"aten::expand", "don't expand to",
             OnSelf({2, 3}, {{"size", IntList({4, 3})}}, {4, 3})},
        Case{"aten::permute", "doesn't name each axis once",
             OnSelf({2, 3}, {{"dims", IntList({0, 0})}}, {2, 2})},
        Case{"aten::permute", "doesn't name each axis once",
             OnSelf({2, 3}, {{"dims", IntList({0})}}, {2})},
        Case{
            "aten::movedim.intlist", "differ in length",
            OnSelf({2, 3},
                   {{"source", IntList({0})}, {"destination", IntList({0, 1})}},
                   {2, 3})},
        Case{"aten::movedim.intlist", "don't name axes",
             OnSelf({2, 3},
                    {{"source", IntList({0})}, {"destination", IntList({4})}},
                    {2, 3})},
        Case{"aten::select.int", "nothing to select",
             OnSelf({}, {{"dim", Int(0)}, {"index", Int(0)}}, {})},
        Case{"aten::slice.Tensor", "step -1 is not positive",
             OnSelf({4},
                    {{"dim", Int(0)},
                     {"start", Int(0)},
                     {"end", Int(4)},
                     {"step", Int(-1)}},
                    {4})},
        Case{"aten::slice.Tensor", "the result's rank differs",
             OnSelf({4},
                    {{"dim", Int(0)},
                     {"start", Int(0)},
                     {"end", Int(4)},
                     {"step", Int(1)}},
                    {2, 2})},
        Case{"aten::unbind.int", "can't be split",
             OnSelf({}, {{"dim", Int(0)}}, {})},
        Case{"aten::diagonal", "needs two axes",
             OnSelf({2, 3},
                    {{"offset", Int(0)}, {"dim1", Int(0)}, {"dim2", Int(0)}},
                    {2})},
        Case{"aten::unfold", "size and step must be positive",
             OnSelf({5},
                    {{"dimension", Int(0)}, {"size", Int(2)}, {"step", Int(0)}},
                    {4, 2})},
        Case{"aten::pixel_shuffle", "an image and a positive factor",
             OnSelf({4, 4}, {{"upscale_factor", Int(2)}}, {4, 4})},
        Case{"aten::cat", "differ in sizes or dtype",
             OnList("tensors", {{2, 3}, {2, 4}}, {{"dim", Int(0)}}, {4, 3})},
        Case{"aten::cat", "nothing to join",
             OnList("tensors", {}, {{"dim", Int(0)}}, {0})},
        Case{"aten::stack", "differ in rank",
             OnList("tensors", {{2, 3}, {}}, {{"dim", Int(1)}}, {2, 2, 3})},
        Case{"aten::pad", "padding mode 'mirror' is unknown",
             OnSelf({2, 3},
                    {{"pad", IntList({1, 1})},
                     {"mode", std::string("mirror")},
                     {"value", None()}},
                    {2, 5})},
        Case{"aten::constant_pad_nd", "has 3 numbers for a tensor of rank 2",
             OnSelf({2, 3}, {{"pad", IntList({1, 1, 1})}, {"value", Int(0)}},
                    {2, 5})},
        Case{"aten::diff", "order 20",
             OnSelf({30},
                    {{"n", Int(20)},
                     {"dim", Int(0)},
                     {"prepend", None()},
                     {"append", None()}},
                    {10})},
        Case{"aten::clamp", "which is not a number",
             OnSelf({2, 3}, {{"min", std::nan("")}, {"max", None()}}, {2, 3})},
        Case{"aten::upsample_nearest2d", "the scale is not the sizes' ratio",
             [](TraceMaker& maker, const std::string& name) {
               SizeExpression n = maker.Symbol(2, 9);
               const SizeExpression m = maker.Symbol(2, 30);
               ValueId x = maker.Input(kF32, {1, 1, n, 4});
               maker.Input(kF32, {m});
               maker.Output(maker.Call(
                   name,
                   {{"input", x},
                    {"output_size", None()},
                    {"scale_factors", std::vector<double>{2.1, 2.0}}},
                   kF32, {1, 1, m, 8}));
             }},
        Case{"aten::upsample_nearest2d", "depends on the layout in memory",
             [](TraceMaker& maker, const std::string& name) {
               ValueId x = maker.Input(kF32, {1, 4, 100, 70});
               maker.Output(maker.Call(
                   name,
                   {{"input", x},
                    {"output_size", None()},
                    {"scale_factors", std::vector<double>{1.002, 2.0}}},
                   kF32, {1, 4, 100, 140}));
             }},
        Case{"aten::slice_scatter", "a start that depends on the sizes",
             [](TraceMaker& maker, const std::string& name) {
               SizeExpression n = maker.Symbol(2, 9);
               ValueId x = maker.Input(kF32, {n}), y = maker.Input(kF32, {1});
               maker.Output(maker.Call(name,
                                       {{"self", x},
                                        {"src", y},
                                        {"dim", Int(0)},
                                        {"start", Int(-3)},
                                        {"end", None()},
                                        {"step", Int(1)}},
                                       kF32, {n}));
             }},
        Case{"aten::index_select", "an index of dtype bool",
             OnTensors({{"self", kF32, {4}}, {"index", kBool, {4}}},
                       {{"dim", Int(0)}}, {4})},
        Case{"aten::gather", "differ in rank",
             OnTensors({{"self", kF32, {4}}, {"index", kI64, {4, 1}}},
                       {{"dim", Int(0)}}, {4, 1})},
        Case{"aten::embedding", "the weight is not a matrix",
             OnTensors({{"weight", kF32, {4}}, {"indices", kI64, {4}}}, {},
                       {4})},
        Case{"aten::one_hot", "depends on data",
             OnSelf({4}, {{"num_classes", Int(-1)}}, {4, 4}, kI64, kI64)},
        Case{"aten::tril", "a matrix is expected",
             OnSelf({4}, {{"diagonal", Int(0)}}, {4})},
        Case{"aten::sort", "axes of up to 128",
             OnSelf({200}, {{"dim", Int(0)}, {"descending", false}}, {200})},
        Case{"aten::sort", "LibTorch sorts axes of so many entries faster",
             OnSelf({8, 128}, {{"dim", Int(1)}, {"descending", false}},
                    {8, 128})},
        Case{"aten::argsort", "an unstable sort",
             OnSelf({17}, {{"dim", Int(0)}, {"descending", true}}, {17})},
        Case{"aten::arange.start_step", "a step that depends on the sizes",
             [](TraceMaker& maker, const std::string& name) {
               SizeExpression n = maker.Symbol(1, 9);
               maker.Input(kF32, {n});
               maker.Output(maker.Call(
                   name, {{"start", Int(0)}, {"end", n * 2}, {"step", n}}, kI64,
                   {2}));
             }}));

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
