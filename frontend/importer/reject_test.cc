// Every builder that can't take a call says why: one case a reason. Networks
// are in reject_network_test.cc.
#include <cmath>

#include "frontend/importer/rejections.h"

namespace aitune::frontend {
namespace {

TEST_P(Rejections, SayWhy) { ExpectRejected(GetParam()); }

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
        Case{"aten::masked_fill", "a number of float32 may be beyond int8",
             [](TraceMaker& maker, const std::string& name) {
               ValueId x = maker.Input(DataType::kInt8, {4}),
                       mask = maker.Input(DataType::kBool, {4}),
                       number = maker.Input(kF32, {});
               maker.Output(maker.Call(
                   name, {{"self", x}, {"mask", mask}, {"value", number}},
                   DataType::kInt8, {4}));
             }},
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

}  // namespace
}  // namespace aitune::frontend
