// Pointwise operators: chains, broadcasting, activations, comparisons.
#include "tests/end_to_end/end_to_end.h"

namespace aitune {
namespace {

const Case kCases[] = {
    {"chain",
     R"(
def forward(self, x: Tensor):
    return torch.relu(x * 2.0 + 1.0) - torch.sigmoid(x)
)",
     {"float32[5,37]"}},
    {"scalar_tensor",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return x * y + y
)",
     {"float32[3,4]", "float32[]"}},
    {"broadcast_rows_and_columns",
     R"(
def forward(self, x: Tensor, row: Tensor, column: Tensor):
    return (x + row) * column
)",
     {"float32[7,33]", "float32[33]", "float32[7,1]"}},
    {"broadcast_both_ways",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return x / (torch.abs(y) + 1.0)
)",
     {"float32[4,1,6]", "float32[5,1]"}},
    {"alpha",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.add(x, y, alpha=3) - torch.sub(y, x, alpha=0.5) + torch.rsub(x, y)
)",
     {"float32[40]", "float32[40]"}},
    {"transcendental",
     R"(
def forward(self, x: Tensor):
    return torch.exp(x) + torch.log(torch.abs(x) + 1.0) + torch.sin(x) * torch.cos(x) + torch.tanh(x) + torch.erf(x)
)",
     {"float32[129]"}},
    {"roots_and_powers",
     R"(
def forward(self, x: Tensor):
    y = torch.abs(x) + 0.5
    return torch.sqrt(y) + torch.rsqrt(y) + torch.pow(y, 1.5) + torch.pow(x, 3) + torch.pow(x, 2) + torch.reciprocal(y)
)",
     {"float32[65]"}},
    {"exponential_family",
     R"(
def forward(self, x: Tensor):
    return torch.expm1(x) + torch.log1p(torch.abs(x)) + torch.exp2(x) + torch.log2(torch.abs(x) + 1.0)
)",
     {"float32[65]"}},
    {"rounding",
     R"(
def forward(self, x: Tensor):
    y = x * 3.0
    return torch.floor(y) + torch.ceil(y) + torch.round(y) + torch.trunc(y)
)",
     {"float32[65]"}},
    {"gelu",
     R"(
def forward(self, x: Tensor):
    return torch.gelu(x) + torch.gelu(x, approximate="tanh")
)",
     {"float32[6,50]"}},
    {"activations",
     R"(
def forward(self, x: Tensor):
    return torch.silu(x) + torch.hardswish(x) + torch.hardsigmoid(x) + torch.relu6(x) + torch.leaky_relu(x, 0.1) + torch.elu(x) + torch.selu(x) + torch.softplus(x) + torch.hardtanh(x, -2.0, 2.0) + torch.mish(x)
)",
     {"float32[6,50]"}},
    {"clamp",
     R"(
def forward(self, x: Tensor):
    return torch.clamp(x, -0.5, 0.5) + torch.clamp(x, min=0.1) + torch.clamp_max(x, 0.3)
)",
     {"float32[70]"}},
    {"clamp_tensor",
     R"(
def forward(self, x: Tensor, low: Tensor):
    return torch.clamp(x, min=low)
)",
     {"float32[8,9]", "float32[9]"}},
    {"comparisons",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.gt(x, y), torch.le(x, 0.0), torch.eq(x, x), torch.ne(x, y)
)",
     {"float32[30]", "float32[30]"}},
    {"where",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.where(x > y, x * 2.0, y)
)",
     {"float32[6,7]", "float32[7]"}},
    {"where_scalar",
     R"(
def forward(self, x: Tensor):
    return torch.where(x > 0.0, x, torch.zeros_like(x)) + torch.where(x > 1.0, 1.0, -1.0)
)",
     {"float32[50]"}},
    {"masked_fill",
     R"(
def forward(self, x: Tensor, mask: Tensor):
    return torch.masked_fill(x, mask, -1e9) + torch.masked_fill(x, torch.logical_not(mask), 0.0)
)",
     {"float32[4,8,8]", "bool[8,8]"}},
    {"logic",
     R"(
def forward(self, x: Tensor, y: Tensor):
    a = x > 0.0
    b = y > 0.0
    return torch.logical_and(a, b), torch.logical_or(a, b), torch.logical_xor(a, b), a & b, a | b, torch.bitwise_not(a)
)",
     {"float32[33]", "float32[33]"}},
    {"minimum_maximum",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.minimum(x, y) + 2.0 * torch.maximum(x, y) + torch.fmod(x, 0.7)
)",
     {"float32[33]", "float32[33]"}},
    {"addcmul_lerp",
     R"(
def forward(self, x: Tensor, y: Tensor, z: Tensor):
    return torch.addcmul(x, y, z, value=0.5) + torch.addcdiv(x, y, torch.abs(z) + 1.0) + torch.lerp(x, y, 0.25)
)",
     {"float32[33]", "float32[33]", "float32[33]"}},
    {"division_modes",
     R"(
def forward(self, x: Tensor, y: Tensor):
    z = torch.abs(y) + 0.5
    return torch.div(x, z, rounding_mode="floor") + torch.div(x, z, rounding_mode="trunc") + torch.remainder(x, z)
)",
     {"float32[200]", "float32[200]"}},
    {"glu",
     R"(
def forward(self, x: Tensor):
    return torch.glu(x, -1)
)",
     {"float32[3,10]"}},
    {"sign_and_nan_tests",
     R"(
def forward(self, x: Tensor):
    return torch.sign(x), torch.isnan(x), torch.isinf(x), torch.neg(x), torch.square(x)
)",
     {"float32[40]"}},
    {"one_value_used_often",
     R"(
def forward(self, x: Tensor):
    y = torch.exp(x * 0.1)
    return y, y + 1.0, y * y, torch.relu(y - 1.0)
)",
     {"float32[4,100]"}},
    {"large",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.tanh(x) * y + 1.0
)",
     {"float32[300,1000]", "float32[1000]"}},
    {"empty",
     R"(
def forward(self, x: Tensor):
    return torch.relu(x) + 1.0
)",
     {"float32[0,4]"}},
};
END_TO_END_TESTS(Pointwise, kCases);

}  // namespace
}  // namespace aitune
