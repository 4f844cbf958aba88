// Every dtype, promotion between them, and eager's roundings emulated.
#include "tests/end_to_end/end_to_end.h"

namespace aitune {
namespace {

constexpr char kMixture[] = R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.softmax(torch.gelu(x * y + 1.0), -1) + torch.layer_norm(x, [24])
)";
constexpr char kLinear[] = R"(
def forward(self, x: Tensor, w: Tensor, b: Tensor):
    return torch.relu(torch.linear(x, w, b))
)";
constexpr char kConvolution[] = R"(
def forward(self, x: Tensor, b: Tensor):
    w = self.weight(1152, [16, 8, 3, 3]).to(b.dtype)
    return torch.relu(torch.conv2d(x, w, b, [1, 1], [1, 1]))
)";
constexpr char kAttention[] = R"(
def forward(self, q: Tensor, k: Tensor, v: Tensor):
    return torch.scaled_dot_product_attention(q, k, v)
)";
constexpr char kArithmetic[] = R"(
def forward(self, x: Tensor, y: Tensor):
    return x + y * 2, x - y, torch.maximum(x, y), x * x, torch.abs(x), torch.neg(y)
)";
constexpr char kReductions[] = R"(
def forward(self, x: Tensor):
    return torch.sum(x, [1]), torch.amax(x, [1]), torch.sum(x)
)";

const Case kCases[] = {
    {"bfloat16_mixture", kMixture, {"bfloat16[6,24]", "bfloat16[24]"}},
    {"float16_mixture", kMixture, {"float16[6,24]", "float16[24]"}},
    {"float64_mixture", kMixture, {"float64[6,24]", "float64[24]"}},
    {"bfloat16_emulated",
     kMixture,
     {"bfloat16[6,24]", "bfloat16[24]"},
     {},
     /*emulate_eager_casts=*/true},
    {"bfloat16_linear",
     kLinear,
     {"bfloat16[9,32]", "bfloat16[48,32]", "bfloat16[48]"}},
    {"float16_linear",
     kLinear,
     {"float16[9,32]", "float16[48,32]", "float16[48]"}},
    {"float64_linear",
     kLinear,
     {"float64[9,32]", "float64[48,32]", "float64[48]"}},
    {"bfloat16_convolution",
     kConvolution,
     {"bfloat16[1,8,9,9]", "bfloat16[16]"}},
    {"bfloat16_filter_as_input",
     R"(
def forward(self, x: Tensor, w: Tensor):
    return torch.relu(torch.conv2d(x, w, None, [1, 1], [1, 1]))
)",
     {"bfloat16[1,8,9,9]", "bfloat16[16,8,3,3]"},
     {"aten::conv2d", "aten::relu"}},
    {"float64_convolution",
     kConvolution,
     {"float64[1,8,9,9]", "float64[16]"},
     {"aten::conv2d"}},
    {"bfloat16_attention",
     kAttention,
     {"bfloat16[1,2,12,16]", "bfloat16[1,2,12,16]", "bfloat16[1,2,12,16]"}},
    {"float64_attention",
     kAttention,
     {"float64[1,2,12,16]", "float64[1,2,12,16]", "float64[1,2,12,16]"},
     {"aten::scaled_dot_product_attention"}},
    {"int64_arithmetic", kArithmetic, {"int64[40]{-9..9}", "int64[40]{-9..9}"}},
    {"int32_arithmetic", kArithmetic, {"int32[40]{-9..9}", "int32[40]{-9..9}"}},
    {"int16_arithmetic", kArithmetic, {"int16[40]{-9..9}", "int16[40]{-9..9}"}},
    {"int8_arithmetic",
     kArithmetic,
     {"int8[40]{-90..90}", "int8[40]{-90..90}"}},
    {"uint8_arithmetic",
     kArithmetic,
     {"uint8[40]{0..250}", "uint8[40]{0..250}"}},
    {"int64_reductions", kReductions, {"int64[5,40]{-9..9}"}},
    {"int32_reductions", kReductions, {"int32[5,40]{-9..9}"}},
    {"bfloat16_reductions", kReductions, {"bfloat16[5,40]"}},
    {"integer_division",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.floor_divide(x, y), torch.remainder(x, y), x / y, torch.div(x, y, rounding_mode="trunc"), x % 3
)",
     {"int64[40]{-20..20}", "int64[40]{1..5}"}},
    {"bit_operations",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return x & y, x | y, x ^ y, torch.bitwise_not(x), torch.bitwise_left_shift(x, 2), torch.bitwise_right_shift(x, 1)
)",
     {"int64[40]{-20..20}", "int64[40]{0..20}"}},
    {"promotion",
     R"(
def forward(self, i: Tensor, f: Tensor, h: Tensor, b: Tensor):
    return i + f, f * h, h + 1, i + 1.5, b + 1, b * f, i + b, torch.where(b, i, f)
)",
     {"int64[12]{-3..3}", "float32[12]", "bfloat16[12]", "bool[12]"}},
    {"conversions",
     R"(
def forward(self, x: Tensor):
    return x.to(15), x.to(7), x.to(4), x.to(3), x.to(11), x.to(5).to(6), x.to(1)
)",
     {"float32[30]{-9..9}"}},
    {"casts_around_a_norm",
     R"(
def forward(self, x: Tensor):
    y = x.to(6)
    y = y * torch.rsqrt(torch.mean(y * y, [-1], True) + 1e-6)
    return y.to(15) * 2.0
)",
     {"bfloat16[6,64]"}},
    {"bool_algebra",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return x & y, x | y, torch.logical_not(x), torch.sum(x), torch.any(x), torch.where(x, 1.0, 0.0)
)",
     {"bool[20]", "bool[20]"}},
    {"comparison_of_integers",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return x < y, torch.eq(x, 2), torch.where(x > y, x, y), torch.clamp(x, 0, 3)
)",
     {"int64[20]{-5..5}", "int64[20]{-5..5}"}},
    {"scalar_types",
     R"(
def forward(self, x: Tensor):
    return torch.full_like(x, 2), torch.ones_like(x, dtype=6) * 3, torch.zeros_like(x) + x, x * True
)",
     {"int64[6]{-5..5}"}},
};
END_TO_END_TESTS(Dtype, kCases);

}  // namespace
}  // namespace aitune
