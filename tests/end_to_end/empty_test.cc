// Tensors without elements, and contractions and reductions over none: of fixed
// sizes, and of slices that are empty in some calls (dynamic axes begin at 1).
#include "tests/end_to_end/end_to_end.h"

namespace aitune {
namespace {

constexpr char kReductions[] = R"(
def forward(self, x: Tensor):
    whole = (torch.sum(x), torch.mean(x), torch.prod(x), torch.any(x), torch.all(x), torch.norm(x), torch.var(x), torch.count_nonzero(x))
    rows = (torch.sum(x, [1]), torch.mean(x, [1]), torch.prod(x, 1), torch.any(x, 1), torch.all(x, 1), torch.std(x, [1], True))
    columns = (torch.sum(x, [0], True), torch.mean(x, [0]), torch.prod(x, 0), torch.any(x, 0), torch.all(x, 0), torch.var(x, [0]))
    return whole, rows, columns
)";

constexpr char kAlongRows[] = R"(
def forward(self, x: Tensor):
    return torch.softmax(x, 1), torch.log_softmax(x, 1), torch.logsumexp(x, [1]), torch.cumsum(x, 1), torch.softmax(x, 0), torch.cumsum(x, 0)
)";

constexpr char kNorms[] = R"(
def forward(self, x: Tensor):
    return torch.layer_norm(x, [8]), torch.rms_norm(x, [8]), torch.group_norm(x, 4), torch.batch_norm(x, None, None, torch.zeros([8]), torch.ones([8]), False, 0.1, 1e-5, False)
)";

constexpr char kProducts[] = R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.matmul(x, y), torch.addmm(x.new_ones([1]), x, y), torch.einsum("ij,jk->ik", [x, y]), torch.linear(x, y.t())
)";

constexpr char kMovement[] = R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.cat([x, y]), torch.cat([x, x]), torch.stack([x, x]), torch.flip(x, [0]), torch.pad(x, [1, 1]), x.t() + 1., x.repeat([2, 2]), torch.relu(x)[:, :2]
)";

constexpr char kAttention[] = R"(
def forward(self, q: Tensor, k: Tensor, v: Tensor):
    return torch.scaled_dot_product_attention(q, k, v)
)";

constexpr char kConvolutions[] = R"(
def forward(self, x: Tensor):
    w = self.weight(16 * 16 * 9, [16, 16, 3, 3])
    return torch.conv2d(x, w, None, 1, 1), torch.conv2d(x, w[:, :1], None, 2, 1, 1, 16), torch.conv2d(x, w[:, :, :1, :1]), torch.max_pool2d(x, 2), torch.avg_pool2d(x, 3, 2, 1), torch.adaptive_avg_pool2d(x, [1, 1])
)";

// Eager divides by none of the zeros.
constexpr char kDivisors[] = R"(
def forward(self, x: Tensor):
    y = x.unsqueeze(0).expand([0, -1]).flatten()[:16].expand([3, -1])
    return torch.floor_divide(y.clone(), y), torch.remainder(y.clone(), y)
)";

const Case kCases[] = {
    {"divisors_of_no_elements", kDivisors, {"int64[1..9]{-1..1}"}},
    {"reductions_of_no_rows", kReductions, {"float32[0,3]"}},
    {"reductions_of_no_columns", kReductions, {"float32[5,0]"}},
    {"reductions_of_wide_rows", kReductions, {"float32[0,64]"}},
    {"reductions_of_nothing", kReductions, {"float64[0,0]"}},
    {"reductions_of_bfloat16", kReductions, {"bfloat16[0,3]"}},
    {"along_no_rows", kAlongRows, {"float32[0,5]"}},
    {"along_no_columns", kAlongRows, {"float32[5,0]"}},
    {"norms_of_no_rows", kNorms, {"float32[0,8]"}},
    {"product_over_nothing", kProducts, {"float32[3,0]", "float32[0,4]"}},
    {"product_over_nothing_of_many",
     kProducts,
     {"float32[300,0]", "float32[0,400]"}},
    {"product_of_no_rows", kProducts, {"float32[0,5]", "float32[5,4]"}},
    {"product_of_no_columns", kProducts, {"float32[3,5]", "float32[5,0]"}},
    {"product_of_bfloat16_over_nothing",
     kProducts,
     {"bfloat16[3,0]", "bfloat16[0,4]"},
     {"*"}},
    {"batched_product_over_nothing",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.bmm(x, y), torch.baddbmm(torch.ones([1, 1, 1]), x, y)
)",
     {"float32[2,3,0]", "float32[2,0,4]"}},
    {"movement_of_no_rows", kMovement, {"float32[0,3]", "float32[4,3]"}},
    {"attention_over_no_keys",
     kAttention,
     {"float32[1,2,5,8]", "float32[1,2,0,8]", "float32[1,2,0,8]"}},
    {"attention_of_no_queries",
     kAttention,
     {"float32[1,2,0,8]", "float32[1,2,5,8]", "float32[1,2,5,8]"}},
    {"attention_of_no_heads",
     kAttention,
     {"float32[0,2,5,8]", "float32[0,2,5,8]", "float32[0,2,5,8]"}},
    {"convolutions_of_no_images", kConvolutions, {"float32[0,16,12,12]"}},
    {"rows_at_run_time",
     R"(
def forward(self, rows: Tensor, w: Tensor):
    x = rows[1:]
    reduced = (torch.sum(x), torch.prod(x, 0), torch.sum(x, [0]), torch.mean(x, [1]), torch.any(x, 0))
    return reduced, torch.matmul(x, w), torch.matmul(x.t(), x), torch.softmax(x, 1), torch.layer_norm(x, [8]), torch.cat([x, x])
)",
     {"float32[1..40,8]", "float32[8,5]"}},
    {"columns_at_run_time",
     R"(
def forward(self, columns: Tensor):
    x = columns[:, 1:]
    reduced = (torch.sum(x), torch.sum(x, [1]), torch.prod(x, 1), torch.sum(x, [0]), torch.all(x, 1))
    return reduced, torch.matmul(x, x.t()), torch.softmax(x, 1), torch.cumsum(x, 1), torch.cat([x, x], 1)
)",
     {"float32[40,1..70]"}},
    {"positions_at_run_time",
     R"(
def forward(self, q: Tensor, k: Tensor):
    q = q[:, :, 1:]
    k = k[:, :, 1:]
    return torch.scaled_dot_product_attention(q, k, k)
)",
     {"float32[1,2,s=1..40,8]", "float32[1,2,t=1..50,8]"}},
    {"images_at_run_time",
     R"(
def forward(self, images: Tensor):
    x = images[1:]
    w = self.weight(16 * 16 * 9, [16, 16, 3, 3])
    return torch.conv2d(x, w, None, 1, 1), torch.conv2d(x, w[:, :, :1, :1]), torch.max_pool2d(x, 2)
)",
     {"float32[1..3,16,12,12]"}},
    {"gather_of_no_indices",
     R"(
def forward(self, x: Tensor, i: Tensor):
    return torch.embedding(x, i), torch.index_select(x, 0, i), x[i]
)",
     {"float32[7,5]", "int64[0]"}},
    {"shapes_of_no_elements",
     R"(
def forward(self, x: Tensor):
    return x.reshape([3, 0]), x.view([0, 9, 2]), x.flatten(), x.unsqueeze(1).expand([0, 4, 3]), torch.split(x, [1, 2], 1)
)",
     {"float32[0,3]"}},
};

END_TO_END_TESTS(Empty, kCases);

}  // namespace
}  // namespace aitune
