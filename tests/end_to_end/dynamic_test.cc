// One executable for a range of sizes: checked at the smallest, a middle and
// the largest.
#include "tests/end_to_end/end_to_end.h"

namespace aitune {
namespace {

const Case kCases[] = {
    {"pointwise",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.relu(x + y) * 2.0
)",
     {"float32[1..9,33]", "float32[33]"}},
    {"two_axes",
     R"(
def forward(self, x: Tensor):
    return torch.softmax(x * 0.5, -1)
)",
     {"float32[1..7,2..50]"}},
    {"reduction",
     R"(
def forward(self, x: Tensor):
    return torch.sum(x, [0]), torch.mean(x, [1]), torch.amax(x)
)",
     {"float32[1..20,3..30]"}},
    {"matmul",
     R"(
def forward(self, x: Tensor):
    return torch.gelu(torch.linear(x, self.weight(1536, [48, 32]), self.weight(48, [48])))
)",
     {"float32[1..33,32]"}},
    {"both_operands",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.matmul(x, torch.transpose(y, -1, -2))
)",
     {"float32[b=1..4,m=1..9,16]", "float32[b=1..4,n=2..12,16]"}},
    {"convolution",
     R"(
def forward(self, x: Tensor):
    y = torch.relu(torch.conv2d(x, self.weight(432, [16, 3, 3, 3]), self.weight(16, [16]), [2, 2], [1, 1]))
    return torch.flatten(torch.adaptive_avg_pool2d(y, [1, 1]), 1)
)",
     {"float32[1..4,3,16,16]"}},
    {"image_size",
     R"(
def forward(self, x: Tensor):
    return torch.max_pool2d(torch.relu(torch.conv2d(x, self.weight(432, [16, 3, 3, 3]), None, [1, 1], [1, 1])), [2, 2])
)",
     {"float32[1,3,h=8..20,w=8..20]"}},
    {"attention",
     R"(
def forward(self, q: Tensor, k: Tensor, v: Tensor):
    return torch.scaled_dot_product_attention(q, k, v, None, 0.0, True)
)",
     {"float32[1..3,4,n=1..24,16]", "float32[1..3,4,n=1..24,16]",
      "float32[1..3,4,n=1..24,16]"}},
    {"reshape_by_size",
     R"(
def forward(self, x: Tensor):
    b, n = x.size(0), x.size(1)
    y = x.view([b, n, 4, 8]).transpose(1, 2)
    return y.reshape([b * 4, n, 8]) * 2.0, y.flatten(2)
)",
     {"float32[1..5,1..9,32]"}},
    {"slices_by_size",
     R"(
def forward(self, x: Tensor):
    n = x.size(1)
    return x[:, : n - 1] + x[:, 1:], x[:, -1], x[:, ::2]
)",
     {"float32[2,3..11]"}},
    // Products of rows or of a column are sums of rows.
    {"sums_of_products",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.sigmoid(torch.linear(x, self.weight(90, [1, 90]), self.weight(1, [1]))), torch.matmul(y, x.transpose(0, 1))
)",
     {"float32[1..40,90]", "float32[90]"}},
    {"cat",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.cat([x, y, x], 0)
)",
     {"float32[m=1..6,5]", "float32[n=1..6,5]"}},
    {"embedding",
     R"(
def forward(self, ids: Tensor):
    n = ids.size(1)
    position = torch.embedding(self.weight(512, [16, 32]), torch.arange(n, dtype=4))
    return torch.layer_norm(torch.embedding(self.weight(640, [20, 32]), ids) + position, [32])
)",
     {"int64[1..3,1..16]{0..19}"}},
    {"mask_by_size",
     R"(
def forward(self, x: Tensor):
    n = x.size(-1)
    mask = torch.tril(torch.ones([n, n], dtype=11))
    return torch.softmax(torch.where(mask, x, torch.full([], -1e9)), -1)
)",
     {"float32[2,n=1..12,n=1..12]"}},
    {"mean_divides_by_size",
     R"(
def forward(self, x: Tensor):
    return torch.sum(x, [1]) / x.size(1), x - torch.mean(x, [1], True)
)",
     {"float32[3,2..17]"}},
    {"fallback",
     R"(
def forward(self, x: Tensor):
    values, indices = torch.sort(x + 1.0, -1)
    return torch.relu(values)
)",
     {"float32[1..5,2..9]"},
     {"aten::sort"}},
    {"size_as_output",
     R"(
def forward(self, x: Tensor):
    return x * 2.0, x.size(0)
)",
     {"float32[1..5,4]"},
     {"*"}},
    {"padding_by_sizes",
     R"(
def forward(self, x: Tensor):
    w = x.size(2)
    some = torch.pad(x, [w // 2, 1, 2, 32 - w]), torch.pad(x, [0, (5 - w % 5) % 5], "constant", 0.5)
    return some, torch.pad(x, [0, (5 - w % 5) % 5], "reflect"), torch.pad(x, [w // 3, 2], "replicate"), torch.pad(x, [w // 2, w], "circular")
)",
     {"float32[2,1..3,8..32]"}},
    {"writes_to_slices_by_size",
     R"(
def forward(self, x: Tensor):
    n = x.size(1)
    y = x * 1.0
    y[:, -3:] = 0.5
    y[:, n // 2 : n - 1].mul_(2.0)
    y[:, -1] = x[:, 0]
    return y, torch.slice_scatter(x, x[:, :2], 1, n - 4, n - 2)
)",
     {"float32[2,5..14]"}},
    {"diagonals",
     R"(
def forward(self, x: Tensor):
    n = x.size(1)
    ones = torch.einsum("bii->bi", [x]), torch.einsum("bij,jj->bi", [x, x[0]])
    return ones, torch.diagonal(x, 1, 1, 2) * 2.0, torch.diagonal(x, -1, 1, 2) + 1.0, torch.rot90(x, 3, [1, 2])
)",
     {"float32[1..3,n=3..12,n=3..12]"}},
    // Windows, where only their multiples are left.
    {"windows_of_a_dynamic_axis",
     R"(
def forward(self, x: Tensor):
    w = x.reshape(x.size(0), -1, 4, 8)
    return w.sum(1)[:, None] + w, (w * 2).reshape(x.size(0), x.size(1), 8)
)",
     {"float32[1..3,32..48,8]"}},
    {"columns_of_patches",
     R"(
def forward(self, x: Tensor):
    return torch.im2col(x, [3, 2], [2, 1], [1, 0], [2, 4]), torch.im2col(x[0], [2, 2], [1, 1], [0, 0], [1, 1]) + 1.0
)",
     {"float32[1..3,2,9..30,9..30]"}},
    // A CPU without float16 arithmetic has no code for it: LibTorch runs it.
    {"computed_filter_of_a_transposed_convolution",
     R"(
def forward(self, x: Tensor, y: Tensor):
    rows = torch.cat([x.expand([1, 4, -1, -1]), x.expand([1, 4, -1, -1])], 2).flatten()[:16].expand([3, -1])
    return torch.conv_transpose1d(rows.unsqueeze(0), rows.new_ones([3, 2, 3]), None, 2, 1)
)",
     {"float16[b=2..9,b=2..9]", "float16[b=2..9,a=1..9,5]"},
     {"*"}},
    // All of it is known before a call.
    {"convolution_of_constants",
     R"(
def forward(self, x: Tensor):
    y = torch.full([12, 12], 3.0)
    return torch.conv1d(y.unsqueeze(0), y[:, :1].unsqueeze(0)) + x
)",
     {"float32[1..4,1]"},
     {"*"}},
    {"product_over_no_elements",
     R"(
def forward(self, x: Tensor):
    y = torch.diagonal(x, 1, 1, 2).flatten()
    return torch.matmul(y, y)
)",
     {"float64[a=2..5,1,a=2..5,3]"},
     {"*"}},
    {"product_over_no_elements_at_one_size",
     R"(
def forward(self, x: Tensor):
    y = torch.diagonal(x, 1, 1, 2).flatten()
    return torch.matmul(y, y)
)",
     {"float64[1,1,1,3]"},
     {"*"}},
    {"bfloat16",
     R"(
def forward(self, x: Tensor, w: Tensor):
    return torch.softmax(torch.linear(x, w), -1)
)",
     {"bfloat16[1..9,32]", "bfloat16[24,32]"}},
};
END_TO_END_TESTS(Dynamic, kCases);

}  // namespace
}  // namespace aitune
