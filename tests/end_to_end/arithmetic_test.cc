// Arithmetic at its edges: shifts by the width, overflow on the way to a result
// that is in range, tails, long sums, NaN as a position.
#include "tests/end_to_end/end_to_end.h"

namespace aitune {
namespace {

constexpr char kShifts[] = R"(
def forward(self, x: Tensor):
    right = (x >> 0, x >> 1, x >> 7, x >> 8, x >> 15, x >> 31, x >> 63, x >> 64, x >> 300, x >> 256, x.__rshift__(-1))
    left = (x << 1, x << 7, x << 8, x << 31, x << 63, x << 64, x << 300, x << 256, x.__lshift__(-1))
    return right, left, torch.bitwise_right_shift(x, 7), torch.bitwise_left_shift(x, 7)
)";

constexpr char kSampleAtNan[] = R"(
def sample(self, x: Tensor, grid: Tensor) -> List[Tensor]:
    return [torch.grid_sampler(x, grid, 0, 0, False), torch.grid_sampler(x, grid, 1, 0, False), torch.grid_sampler(x, grid, 0, 1, True), torch.grid_sampler(x, grid, 1, 1, True)]
def forward(self, x: Tensor, grid: Tensor):
    nan = torch.where(grid > 0.7, torch.log(-torch.abs(grid)), grid)
    far = torch.where(grid > 0.5, grid * 1e30, grid)
    infinite = torch.where(grid < -0.8, grid / 0., grid)
    return self.sample(x, nan), self.sample(x, far), self.sample(x, infinite)
)";

const Case kCases[] = {
    {"int8_shifts", kShifts, {"int8[64]{-128..127}"}},
    {"uint8_shifts", kShifts, {"uint8[64]{0..255}"}},
    {"int16_shifts", kShifts, {"int16[64]{-32768..32767}"}},
    {"int32_shifts", kShifts, {"int32[64]{-2000000000..2000000000}"}},
    {"int64_shifts", kShifts, {"int64[64]{-9e15..9e15}"}},
    {"hypot_of_squares_out_of_range",
     R"(
def forward(self, x: Tensor, y: Tensor):
    large = torch.hypot(x * 1e30, y * 1e30)
    small = torch.hypot(x * 1e-30, y * 1e-30) * 1e30
    return large, small, torch.hypot(x * 0., y), torch.hypot(x * 0., y * 0.)
)",
     {"float32[40]", "float32[40]"}},
    {"hypot_of_float64",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.hypot(x * 1e300, y * 1e300), torch.hypot(x * 1e-300, y * 1e-300) * 1e300
)",
     {"float64[40]", "float64[40]"}},
    {"hypot_of_infinity_and_nan",
     R"(
def forward(self, x: Tensor, y: Tensor):
    infinite = x / 0.
    nan = torch.log(-torch.abs(y) - 1.)
    return torch.hypot(infinite, nan), torch.hypot(nan, infinite), torch.hypot(nan, x), torch.hypot(infinite, infinite)
)",
     {"float32[40]{1..2}", "float32[40]{1..2}"}},
    {"tail_of_erfc",
     R"(
def forward(self, x: Tensor):
    return torch.log(torch.erfc(x)), torch.erfc(-x)
)",
     {"float32[60]{2..9}"}},
    {"cumsum_of_millions",
     R"(
def forward(self, x: Tensor):
    return torch.cumsum(x, 0)[::1000]
)",
     {"float32[4000003]{1000..1001}"}},
    {"differences_are_rounded_once",
     R"(
def forward(self, x: Tensor):
    three = (x.to(7) * 3.).to(6)
    return torch.sub(three, x, alpha=3) * 1e7, torch.rsub(x, three, alpha=3) * 1e7
)",
     {"float32[60]{1..2}"}},
    {"weight_of_lerp_is_not_rounded",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.lerp(x, y, 0.3)
)",
     {"bfloat16[40]{3..3}", "bfloat16[40]{-7..-7}"}},
    {"signed_zero",
     R"(
def forward(self, x: Tensor):
    zero = x * -0.
    return torch.copysign(x, torch.tanh(zero)), torch.copysign(x, torch.erf(zero))
)",
     {"float32[40]{1..2}"}},
    {"grid_sampler_at_nan",
     kSampleAtNan,
     {"float32[1,3,5,7]", "float32[1,4,6,2]{-1..1}"}},
};

END_TO_END_TESTS(Arithmetic, kCases);

}  // namespace
}  // namespace aitune
