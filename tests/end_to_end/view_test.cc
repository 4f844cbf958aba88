// Views, in-place operators, slices, joins, gathers and embeddings.
#include "tests/end_to_end/end_to_end.h"

namespace aitune {
namespace {

const Case kViewCases[] = {
    {"reshape_and_permute",
     R"(
def forward(self, x: Tensor):
    y = x.view([2, 3, 4, 5]).permute([0, 2, 1, 3])
    return y.reshape([2, 4, 15]) + 1.0, torch.flatten(x), y.contiguous()
)",
     {"float32[2,60]"}},
    {"squeeze_unsqueeze_expand",
     R"(
def forward(self, x: Tensor):
    y = x.unsqueeze(1).expand([4, 3, 6])
    return y * 2.0, y.squeeze(0), x.unsqueeze(-1).squeeze(-1) + 1.0
)",
     {"float32[4,6]"}},
    {"slices",
     R"(
def forward(self, x: Tensor):
    return x[1:, ::2] + 1.0, x[:, -3:], x[2], x[..., 0], x[1:3, 2:4] * x[2:4, 0:2]
)",
     {"float32[5,8]"}},
    {"select_narrow_chunk",
     R"(
def forward(self, x: Tensor):
    a, b, c = torch.chunk(x, 3, 1)
    d, e = torch.split(x, [4, 5], 1)
    return a * b + c, d.sum(), e, torch.narrow(x, 1, 2, 3), torch.select(x, 0, -1)
)",
     {"float32[4,9]"}},
    // Bits of a tensor on the memory of another say that its elements are
    // negated, or conjugated.
    {"negative_bit",
     R"(
def forward(self, x: Tensor):
    y = torch._neg_view(x)
    return y + 1.0, y[1:] * 2.0, torch._neg_view(x * 3.0), torch._neg_view(y) - x, torch.relu(torch.resolve_neg(y))
)",
     {"float32[4,6]"},
     {"*"}},
    {"negative_bit_of_a_constant",
     R"(
def forward(self, x: Tensor):
    w = self.weight(6, [6])
    return x + torch._neg_view(w), x * w
)",
     {"float32[4,6]"},
     {"*"}},
    {"conjugate_bit",
     R"(
def forward(self, x: Tensor):
    w = torch.complex(self.weight(6, [6]), self.weight(6, [6]) + 1.0)
    z = torch.complex(x, x)
    return torch.real(torch.conj(w) * z), torch.real(torch.conj(z) * w), torch.imag(torch.conj(z)) + 1.0
)",
     {"float32[4,6]"},
     {"*"}},
    // The first is the tensor itself.
    {"broadcast_tensors",
     R"(
def forward(self, x: Tensor, y: Tensor):
    a, b = torch.broadcast_tensors([x, y])
    return a * 2.0 + b, torch.meshgrid([y])[0] + 1.0
)",
     {"float32[5,4]", "float32[4]"}},
    {"cat_and_stack",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.cat([x, y, x * 2.0], 1), torch.stack([x, x + 1.0], 0), torch.cat([x, y], -1)
)",
     {"float32[3,4]", "float32[3,5]"}},
    {"flip_roll_repeat",
     R"(
def forward(self, x: Tensor):
    return torch.flip(x, [1]), torch.roll(x, [1], [1]), x.repeat([2, 3]), torch.repeat_interleave(x, 2, 1)
)",
     {"float32[3,5]"},
     {"aten::repeat_interleave"}},
    {"pad",
     R"(
def forward(self, x: Tensor):
    return torch.constant_pad_nd(x, [1, 2, 3, 0], 0.5), torch.pad(x, [2, 2], "reflect"), torch.pad(x, [-1, 1])
)",
     {"float32[1,4,6]"},
     {"aten::pad", "aten::reflection_pad1d"}},
    {"pad_with_copies",
     R"(
def forward(self, x: Tensor):
    reflected = torch.pad(x, [5, 3, 2, 1], "reflect"), torch.pad(x, [-1, 39, 0, 0], "reflect"), torch.pad(x, [4, -2, 0, 0], "reflect")
    replicated = torch.pad(x, [3, 2, 0, 2], "replicate"), torch.pad(x, [0, 50, 0, 0], "replicate"), torch.pad(x, [-3, 1, 0, 0], "replicate")
    repeated = torch.pad(x, [2, 5, 1, 1], "circular"), torch.pad(x, [40, 40, 0, 0], "circular"), torch.pad(x, [6, -4, 0, 0], "circular")
    return reflected, replicated, repeated
)",
     {"float32[2,3,5,40]"},
     {"aten::pad"}},
    {"triangles",
     R"(
def forward(self, x: Tensor):
    return torch.tril(x), torch.triu(x, 1)
)",
     {"float32[7,7]"}},
    {"transposes",
     R"(
def forward(self, x: Tensor):
    return torch.transpose(x, 0, 1) + 0.0, torch.movedim(x, 0, 2) * 1.5, x.swapaxes(0, 2).contiguous()
)",
     {"float32[3,4,5]"}},
    {"in_place_chain",
     R"(
def forward(self, x: Tensor):
    y = x.clone()
    y.add_(1.0)
    y.mul_(x)
    y.relu_()
    return y
)",
     {"float32[4,8]"}},
    {"in_place_on_a_view",
     R"(
def forward(self, x: Tensor):
    y = x.clone()
    row = y[1]
    row.mul_(10.0)
    y[:, 0].zero_()
    return y, row
)",
     {"float32[4,8]"}},
    {"slice_assignment",
     R"(
def forward(self, x: Tensor, z: Tensor):
    y = torch.zeros([4, 8])
    y[1:3] = x
    y[0, 2:5] = z
    y[3].fill_(2.0)
    return y
)",
     {"float32[2,8]", "float32[3]"}},
    {"input_changed_in_place",
     R"(
def forward(self, x: Tensor):
    y = x * 2.0
    z = y.view([8, 4])
    z += 1.0
    return y
)",
     {"float32[4,8]"}},
    {"unbind",
     R"(
def forward(self, x: Tensor):
    parts = torch.unbind(x, 0)
    return parts[0] + parts[1] * parts[2]
)",
     {"float32[3,10]"}},
    {"output_is_an_input",
     R"(
def forward(self, x: Tensor):
    return x, x + 1.0, x
)",
     {"float32[3,4]"}},
    {"output_is_a_view",
     R"(
def forward(self, x: Tensor):
    y = x * 2.0
    return y, y.view([4, 3]), y[0], torch.t(y)
)",
     {"float32[3,4]"}},
    {"output_is_a_constant",
     R"(
def forward(self, x: Tensor):
    return x + 1.0, torch.ones([3]), self.weight(4, [2, 2])
)",
     {"float32[3,4]"}},
    {"diagonal_and_outer",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.outer(x, y), torch.diagonal(torch.outer(x, y)) + 1.0
)",
     {"float32[5]", "float32[5]"},
     {"aten::diagonal"}},
    {"channels_last_input",
     R"(
def forward(self, x: Tensor):
    y = x.permute([0, 3, 1, 2])
    return torch.conv2d(y, self.weight(432, [16, 3, 3, 3])).permute([0, 2, 3, 1])
)",
     {"float32[1,8,8,3]"}},
    {"unfold_patches",
     R"(
def forward(self, x: Tensor):
    y = x.view([1, 3, 2, 4, 2, 4]).permute([0, 2, 4, 1, 3, 5]).reshape([1, 4, 48])
    return torch.linear(y, self.weight(480, [10, 48]))
)",
     {"float32[1,3,8,8]"}},
};
END_TO_END_TESTS(View, kViewCases);

const Case kIndexCases[] = {
    {"embedding",
     R"(
def forward(self, ids: Tensor):
    return torch.embedding(self.weight(640, [20, 32]), ids)
)",
     {"int64[2,7]{0..19}"}},
    {"embeddings_summed_and_normalised",
     R"(
def forward(self, ids: Tensor, types: Tensor):
    word = torch.embedding(self.weight(640, [20, 32]), ids)
    kind = torch.embedding(self.weight(64, [2, 32]), types)
    position = torch.embedding(self.weight(320, [10, 32]), torch.arange(7, dtype=4)).unsqueeze(0)
    return torch.layer_norm(word + kind + position, [32])
)",
     {"int64[2,7]{0..19}", "int64[2,7]"}},
    {"index_select_and_gather",
     R"(
def forward(self, x: Tensor, i: Tensor, j: Tensor):
    return torch.index_select(x, 1, i), torch.gather(x, 1, j)
)",
     {"float32[4,9]", "int64[5]{0..8}", "int64[4,3]{0..8}"}},
    {"overlapping_chunks",
     R"(
def forward(self, x: Tensor):
    y = (x * 2).transpose(0, 1)
    z = torch.as_strided(y, [3, 2, 4], [2, 1, 3])
    return z + 1, torch.as_strided(y, [4], [5], 2) * y[0, 0]
)",
     {"float32[6,4]"}},
    {"write_under_mask",
     R"(
def forward(self, x: Tensor, rows: Tensor, v: Tensor):
    y = x * 2
    y[x > 0] = 3.0
    z = x + 1
    z[rows] = v
    w = x - 1
    w[:, v > 0] = 0
    u = x + 2
    u[x > 0] = (x * 3)[x > 0]
    return y + 1, z, w, u * 2
)",
     {"float32[5,7]", "bool[5]", "float32[7]"},
     {"aten::index", "aten::index_put"}},
    {"index_by_tensor",
     R"(
def forward(self, x: Tensor, i: Tensor):
    return x[i], x[:, i]
)",
     {"float32[6,9]", "int64[4]{0..5}"},
     {"aten::index"}},
    {"relative_position_bias",
     R"(
def forward(self, x: Tensor):
    r = torch.arange(8, dtype=4)
    distance = r.unsqueeze(0) - r.unsqueeze(1) + 7
    bias = torch.embedding(self.weight(60, [15, 4]), distance).permute([2, 0, 1])
    return x + bias
)",
     {"float32[2,4,8,8]"}},
    {"scatter",
     R"(
def forward(self, x: Tensor, i: Tensor):
    return torch.scatter(x, 1, i, 5.0)
)",
     {"float32[3,9]", "int64[3,2]{0..8}"},
     {"aten::scatter"}},
    {"one_hot",
     R"(
def forward(self, i: Tensor):
    return torch.eq(i.unsqueeze(-1), torch.arange(6, dtype=4)).to(6)
)",
     {"int64[3,4]{0..5}"}},
    {"topk",
     R"(
def forward(self, x: Tensor):
    values, indices = torch.topk(x, 3)
    return values * 2.0
)",
     {"float32[4,20]"}},
    {"topk_positions",
     R"(
def forward(self, x: Tensor):
    values, indices = torch.topk(x, 3)
    return values * 2.0, indices
)",
     {"float32[4,20]"},
     {"aten::topk"}},
    {"sort",
     R"(
def forward(self, x: Tensor):
    values, indices = torch.sort(x, -1, True)
    return values + 1.0
)",
     {"float32[4,20]"},
     {"aten::sort"}},
};
END_TO_END_TESTS(Index, kIndexCases);

}  // namespace
}  // namespace aitune
