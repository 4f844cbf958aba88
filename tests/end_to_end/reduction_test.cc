// Reductions, softmax and normalisations.
#include "tests/end_to_end/end_to_end.h"

namespace aitune {
namespace {

const Case kCases[] = {
    {"sum_axes",
     R"(
def forward(self, x: Tensor):
    return torch.sum(x, [1]), torch.sum(x, [0, 2], True), torch.sum(x), torch.sum(x, [-1])
)",
     {"float32[5,7,33]"}},
    {"mean_and_variance",
     R"(
def forward(self, x: Tensor):
    return torch.mean(x, [-1]), torch.var(x, [-1], unbiased=False), torch.var(x, [1], unbiased=True), torch.std(x, [2])
)",
     {"float32[3,9,64]"}},
    {"moments_of_far_tiny_and_large_numbers",
     R"(
def forward(self, x: Tensor):
    return torch.std(x + 100000.0, [1]), torch.std(x * 1e-25, [1]), torch.std(x * 1e18, [0]), torch.var_mean(x.to(15), [1])
)",
     {"float32[4,3000]"}},
    {"extrema",
     R"(
def forward(self, x: Tensor):
    return torch.amax(x, [1]), torch.amin(x, [0]), torch.max(x), torch.min(x)
)",
     {"float32[6,40]"}},
    {"extrema_of_negated_integers",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.amin(-x, [0]), torch.amax(x * -2, [0]), torch.minimum(torch.minimum(x, -x.flip([0])), x * -3), torch.max(-y)
)",
     {"int32[7]", "int16[9]"}},
    {"max_with_index",
     R"(
def forward(self, x: Tensor):
    values, indices = torch.max(x, 1)
    return values, indices
)",
     {"float32[6,40]"},
     {"aten::max"}},
    {"argmax_of_all_axes",
     R"(
def forward(self, x: Tensor):
    return torch.argmax(x), torch.argmin(x.flatten(1), 1), x.view([-1]).max(0)
)",
     {"float32[2..5,3,8]"},
     {"aten::argmax", "aten::argmin"}},
    {"argmax",
     R"(
def forward(self, x: Tensor):
    return torch.argmax(x, -1), torch.argmin(x, 0)
)",
     {"float32[6,40]"},
     {"aten::argmax", "aten::argmin"}},
    {"any_all",
     R"(
def forward(self, x: Tensor):
    return torch.any(x > 2.0, 1), torch.all(x > -2.0, 1)
)",
     {"float32[20,16]"}},
    {"product_and_norm",
     R"(
def forward(self, x: Tensor):
    return torch.prod(x, 1), torch.norm(x, 2, [1]), torch.linalg_vector_norm(x, 2, [-1])
)",
     {"float32[9,12]"}},
    {"cumulative_sum",
     R"(
def forward(self, x: Tensor):
    return torch.cumsum(x, 1)
)",
     {"float32[4,30]"},
     {"aten::cumsum"}},
    {"logsumexp",
     R"(
def forward(self, x: Tensor):
    return torch.logsumexp(x, [1])
)",
     {"float32[4,30]"}},
    {"softmax_last",
     R"(
def forward(self, x: Tensor):
    return torch.softmax(x, -1)
)",
     {"float32[2,3,50]"}},
    {"softmax_middle",
     R"(
def forward(self, x: Tensor):
    return torch.softmax(x, 1) + torch.log_softmax(x, 0)
)",
     {"float32[4,10,6]"}},
    {"masked_softmax",
     R"(
def forward(self, x: Tensor, mask: Tensor):
    return torch.softmax(x / 8.0 + (1.0 - mask) * -10000.0, -1)
)",
     {"float32[2,4,16,16]", "float32[2,1,1,16]{0..1}"}},
    {"layer_norm",
     R"(
def forward(self, x: Tensor, w: Tensor, b: Tensor):
    return torch.layer_norm(x, [48], w, b, 1e-5)
)",
     {"float32[2,5,48]", "float32[48]", "float32[48]"}},
    {"layer_norm_without_weights",
     R"(
def forward(self, x: Tensor):
    return torch.layer_norm(x, [6, 8])
)",
     {"float32[3,6,8]"}},
    {"residual_layer_norm_gelu",
     R"(
def forward(self, x: Tensor, y: Tensor):
    z = torch.layer_norm(x + y, [64], self.weight(64, [64]), self.weight(64, [64]))
    return torch.gelu(z) + x
)",
     {"float32[10,64]", "float32[10,64]"}},
    {"rms_norm",
     R"(
def forward(self, x: Tensor):
    scale = torch.rsqrt(torch.mean(torch.pow(x, 2), [-1], True) + 1e-6)
    return x * scale * self.weight(96, [96])
)",
     {"float32[7,96]"}},
    {"group_norm",
     R"(
def forward(self, x: Tensor, w: Tensor, b: Tensor):
    return torch.group_norm(x, 4, w, b)
)",
     {"float32[2,8,5,5]", "float32[8]", "float32[8]"}},
    {"instance_norm",
     R"(
def forward(self, x: Tensor):
    return torch.instance_norm(x, None, None, None, None, True, 0.1, 1e-5, False)
)",
     {"float32[2,3,6,6]"}},
    {"normalise_to_unit_length",
     R"(
def forward(self, x: Tensor):
    length = torch.clamp(torch.norm(x, 2, [1], True), min=1e-12)
    return x / torch.expand_as(length, x)
)",
     {"float32[5,30]"}},
    {"mean_of_masked_tokens",
     R"(
def forward(self, x: Tensor, mask: Tensor):
    m = torch.unsqueeze(mask, -1).to(x.dtype)
    return torch.sum(x * m, [1]) / torch.clamp(torch.sum(m, [1]), min=1e-9)
)",
     {"float32[2,10,24]", "int64[2,10]"}},
    {"reduction_of_reduction",
     R"(
def forward(self, x: Tensor):
    y = torch.softmax(x, -1)
    return torch.sum(y * torch.log(y + 1e-6), [-1]) / torch.amax(x, [-1])
)",
     {"float32[6,100]"}},
    {"long_rows",
     R"(
def forward(self, x: Tensor):
    return torch.softmax(x, -1), torch.sum(x, [1]), torch.mean(x)
)",
     {"float32[3,20000]"}},
    {"long_columns",
     R"(
def forward(self, x: Tensor):
    return torch.sum(x, [0]), torch.amax(x, [0])
)",
     {"float32[5000,17]"}},
};
END_TO_END_TESTS(Reduction, kCases);

}  // namespace
}  // namespace aitune
