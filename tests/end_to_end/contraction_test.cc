// Matrix products, convolutions and attention, with what fuses around them.
#include "tests/end_to_end/end_to_end.h"

namespace aitune {
namespace {

const Case kMatmulCases[] = {
    {"mm",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.mm(x, y)
)",
     {"float32[17,33]", "float32[33,65]"}},
    {"bmm",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.bmm(x, y)
)",
     {"float32[3,9,20]", "float32[3,20,11]"}},
    {"matmul_broadcast",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.matmul(x, y)
)",
     {"float32[2,3,9,20]", "float32[3,20,11]"}},
    {"matmul_vectors",
     R"(
def forward(self, x: Tensor, v: Tensor):
    return torch.matmul(x, v), torch.matmul(v, v), torch.mv(x, v), torch.matmul(v, torch.t(x))
)",
     {"float32[9,20]", "float32[20]"}},
    {"transposed_convolutions",
     R"(
def forward(self, x: Tensor):
    volume = torch.conv_transpose3d(x, self.weight(144, [4, 3, 3, 2, 2]), None, [2, 1, 2], [1, 0, 1], [1, 0, 0], 2)
    image = torch.conv_transpose2d(x[:, :, 0], self.weight(120, [4, 5, 2, 3]), None, [2, 3], [1, 0], [1, 1], 1, [1, 3])
    return volume, image, torch.conv_transpose1d(x[:, :, 0, 0], self.weight(56, [4, 2, 7]), None, [4], [3])
)",
     {"float32[3,4,5,4,5]"}},
    {"matmul_transposed",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.matmul(x, torch.transpose(y, -1, -2))
)",
     {"float32[2,9,20]", "float32[2,11,20]"}},
    {"linear",
     R"(
def forward(self, x: Tensor):
    return torch.linear(x, self.weight(2048, [64, 32]), self.weight(64, [64]))
)",
     {"float32[10,32]"}},
    {"linear_of_one_feature",
     R"(
def forward(self, x: Tensor):
    y = torch.linear(x, self.weight(1, [1, 1]), self.weight(1, [1]))
    z = torch.linear(y, self.weight(19, [19, 1]), self.weight(19, [19]))
    return y, z, torch.linear(torch.relu(z), self.weight(19, [1, 19])), torch.linear(y, self.weight(64, [64, 1]))
)",
     {"float32[49,1]"}},
    {"linear_without_bias",
     R"(
def forward(self, x: Tensor):
    return torch.linear(x, self.weight(640, [20, 32]))
)",
     {"float32[2,5,32]"}},
    {"linear_gelu_linear",
     R"(
def forward(self, x: Tensor):
    y = torch.gelu(torch.linear(x, self.weight(8192, [256, 32]), self.weight(256, [256])))
    return x + torch.linear(y, self.weight(8192, [32, 256]), self.weight(32, [32])) * 0.1
)",
     {"float32[12,32]"}},
    {"linear_epilogues",
     R"(
def forward(self, x: Tensor, r: Tensor):
    w = self.weight(1024, [32, 32])
    b = self.weight(32, [32])
    a = torch.relu(torch.linear(x, w, b))
    c = torch.silu(torch.linear(x, w, b)) * torch.linear(x, w)
    d = torch.tanh(torch.linear(x, w, b) + r)
    e = torch.sigmoid(torch.linear(x, w)) * r
    return a, c, d, e
)",
     {"float32[9,32]", "float32[9,32]"}},
    {"linear_of_a_vector",
     R"(
def forward(self, x: Tensor):
    return torch.linear(x, self.weight(640, [20, 32]), self.weight(20, [20]))
)",
     {"float32[32]"}},
    {"addmm",
     R"(
def forward(self, x: Tensor, b: Tensor):
    return torch.addmm(b, x, self.weight(640, [32, 20]), beta=0.5, alpha=2.0)
)",
     {"float32[7,32]", "float32[20]"}},
    {"baddbmm",
     R"(
def forward(self, c: Tensor, x: Tensor, y: Tensor):
    return torch.baddbmm(c, x, y, beta=1, alpha=0.125)
)",
     {"float32[3,7,9]", "float32[3,7,16]", "float32[3,16,9]"}},
    {"einsum",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.einsum("bhid,bhjd->bhij", [x, y])
)",
     {"float32[2,3,7,16]", "float32[2,3,9,16]"}},
    {"normalised_input",
     R"(
def forward(self, x: Tensor):
    y = torch.layer_norm(x, [64])
    return torch.linear(y, self.weight(3072, [48, 64]), self.weight(48, [48]))
)",
     {"float32[11,64]"}},
    {"product_of_products",
     R"(
def forward(self, x: Tensor, y: Tensor, z: Tensor):
    return torch.matmul(torch.matmul(x, y), z)
)",
     {"float32[8,12]", "float32[12,16]", "float32[16,4]"}},
    {"one_row",
     R"(
def forward(self, x: Tensor):
    return torch.gelu(torch.linear(x, self.weight(65536, [256, 256]), self.weight(256, [256])))
)",
     {"float32[1,256]"}},
    {"odd_sizes",
     R"(
def forward(self, x: Tensor):
    return torch.linear(x, self.weight(1517, [37, 41]), self.weight(37, [37]))
)",
     {"float32[13,41]"}},
    {"inner_size_one",
     R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.matmul(x, y)
)",
     {"float32[5,1]", "float32[1,6]"}},
};
END_TO_END_TESTS(Matmul, kMatmulCases);

const Case kConvolutionCases[] = {
    {"conv2d",
     R"(
def forward(self, x: Tensor):
    return torch.conv2d(x, self.weight(432, [16, 3, 3, 3]), self.weight(16, [16]), [1, 1], [1, 1])
)",
     {"float32[2,3,14,14]"}},
    {"conv2d_without_bias",
     R"(
def forward(self, x: Tensor):
    return torch.conv2d(x, self.weight(432, [16, 3, 3, 3]))
)",
     {"float32[1,3,9,11]"}},
    {"conv2d_1x1",
     R"(
def forward(self, x: Tensor):
    return torch.relu(torch.conv2d(x, self.weight(512, [32, 16, 1, 1]), self.weight(32, [32])))
)",
     {"float32[1,16,7,7]"}},
    {"conv2d_strided_dilated",
     R"(
def forward(self, x: Tensor):
    a = torch.conv2d(x, self.weight(1152, [16, 8, 3, 3]), None, [2, 2], [1, 1])
    b = torch.conv2d(x, self.weight(1152, [16, 8, 3, 3]), None, [1, 1], [2, 2], [2, 2])
    return a, b
)",
     {"float32[1,8,13,13]"}},
    {"conv2d_grouped",
     R"(
def forward(self, x: Tensor):
    return torch.conv2d(x, self.weight(288, [16, 2, 3, 3]), self.weight(16, [16]), [1, 1], [1, 1], [1, 1], 4)
)",
     {"float32[1,8,10,10]"}},
    {"conv2d_depthwise",
     R"(
def forward(self, x: Tensor):
    return torch.hardswish(torch.conv2d(x, self.weight(216, [24, 1, 3, 3]), self.weight(24, [24]), [2, 2], [1, 1], [1, 1], 24))
)",
     {"float32[1,24,15,15]"}},
    {"conv2d_depthwise_between_others",
     R"(
def forward(self, x: Tensor):
    y = torch.conv2d(x, self.weight(192, [24, 8, 1, 1]))
    y = torch.relu(torch.conv2d(y, self.weight(216, [24, 1, 3, 3]), self.weight(24, [24]), [1, 1], [1, 1], [1, 1], 24))
    return torch.conv2d(y, self.weight(192, [8, 24, 1, 1])) + x
)",
     {"float32[2,8,15,19]"}},
    {"conv2d_depthwise_chain",
     R"(
def forward(self, x: Tensor):
    w = self.weight(54, [6, 1, 3, 3])
    y = torch.gelu(torch.conv2d(x, w, self.weight(6, [6]), [1, 1], [1, 1], [1, 1], 6))
    z = torch.conv2d(y, w, None, [1, 1], [2, 2], [2, 2], 6)
    return x + z, torch.conv2d(z, self.weight(126, [6, 1, 7, 3]), None, [2, 1], [3, 0], [1, 1], 6), torch.mean(z, [2, 3])
)",
     {"float32[2,6,17,35]"}},
    {"conv1d_depthwise_causal",
     R"(
def forward(self, x: Tensor):
    y = torch.conv1d(x, self.weight(40, [10, 1, 4]), self.weight(10, [10]), [1], [3], [1], 10)
    return torch.silu(y[:, :, :int(x.size(2))])
)",
     {"float32[2,10,45]"}},
    {"conv1d",
     R"(
def forward(self, x: Tensor):
    return torch.conv1d(x, self.weight(480, [12, 8, 5]), self.weight(12, [12]), [2], [2])
)",
     {"float32[2,8,31]"}},
    {"conv3d",
     R"(
def forward(self, x: Tensor):
    return torch.conv3d(x, self.weight(432, [8, 2, 3, 3, 3]), self.weight(8, [8]))
)",
     {"float32[1,2,6,7,8]"}},
    {"conv3d_stride_padding_dilation",
     R"(
def forward(self, x: Tensor):
    return torch.conv3d(x, self.weight(864, [16, 6, 3, 1, 3]), None, [2, 1, 2], [2, 0, 1], [2, 1, 1])
)",
     {"float32[2,6,7,8,9]"}},
    {"conv3d_along_depth",
     R"(
def forward(self, x: Tensor):
    y = torch.conv3d(x, self.weight(216, [12, 6, 3, 1, 1]), None, [1], [2, 0, 0], [2, 1, 1])
    return torch.conv3d(y, self.weight(216, [12, 6, 3, 1, 1]), self.weight(12, [12]), [2, 1, 1], [1, 0, 0], [1], 2)
)",
     {"float32[2,6,7,5,8]"}},
    {"conv3d_groups",
     R"(
def forward(self, x: Tensor):
    return torch.conv3d(x, self.weight(216, [8, 1, 3, 3, 3]), self.weight(8, [8]), [1], [1], [1], 8)
)",
     {"float32[1,8,5,7,8]"}},
    {"conv_transpose2d",
     R"(
def forward(self, x: Tensor):
    return torch.conv_transpose2d(x, self.weight(1152, [8, 16, 3, 3]), self.weight(16, [16]), [2, 2], [1, 1], [1, 1])
)",
     {"float32[1,8,7,7]"}},
    {"conv_batch_norm_relu",
     R"(
def forward(self, x: Tensor):
    y = torch.conv2d(x, self.weight(432, [16, 3, 3, 3]), None, [1, 1], [1, 1])
    y = torch.batch_norm(y, self.weight(16, [16]), self.weight(16, [16]), self.weight(16, [16]) * 0.1, torch.abs(self.weight(16, [16])) + 0.5, False, 0.1, 1e-5, True)
    return torch.relu(y)
)",
     {"float32[1,3,12,12]"}},
    {"batch_norm_alone",
     R"(
def forward(self, x: Tensor):
    return torch.batch_norm(x, None, None, self.weight(6, [6]), torch.abs(self.weight(6, [6])) + 0.5, False, 0.1, 1e-5, True)
)",
     {"float32[2,6,5,5]"}},
    {"residual_block",
     R"(
def forward(self, x: Tensor):
    y = torch.relu(torch.conv2d(x, self.weight(2304, [16, 16, 3, 3]) * 0.1, self.weight(16, [16]), [1, 1], [1, 1]))
    y = torch.conv2d(y, self.weight(2304, [16, 16, 3, 3]) * 0.1, self.weight(16, [16]), [1, 1], [1, 1])
    return torch.relu(y + x)
)",
     {"float32[1,16,10,10]"}},
    {"squeeze_excitation",
     R"(
def forward(self, x: Tensor):
    s = torch.adaptive_avg_pool2d(x, [1, 1])
    s = torch.relu(torch.conv2d(s, self.weight(128, [8, 16, 1, 1]), self.weight(8, [8])))
    s = torch.hardsigmoid(torch.conv2d(s, self.weight(128, [16, 8, 1, 1]), self.weight(16, [16])))
    return s * x
)",
     {"float32[1,16,9,9]"}},
    {"max_pool",
     R"(
def forward(self, x: Tensor):
    return torch.max_pool2d(x, [3, 3], [2, 2], [1, 1]), torch.max_pool2d(x, [2, 2])
)",
     {"float32[1,4,13,13]"}},
    {"avg_pool",
     R"(
def forward(self, x: Tensor):
    return torch.avg_pool2d(x, [3, 3], [2, 2], [1, 1]), torch.avg_pool2d(x, [3, 3], [1, 1], [1, 1], False, False)
)",
     {"float32[1,4,13,13]"}},
    {"adaptive_pool_and_head",
     R"(
def forward(self, x: Tensor):
    y = torch.flatten(torch.adaptive_avg_pool2d(x, [1, 1]), 1)
    return torch.linear(y, self.weight(320, [10, 32]), self.weight(10, [10]))
)",
     {"float32[2,32,7,7]"}},
    {"adaptive_pool_3x3",
     R"(
def forward(self, x: Tensor):
    return torch.adaptive_avg_pool2d(x, [3, 3])
)",
     {"float32[1,4,9,9]"}},
    {"upsample",
     R"(
def forward(self, x: Tensor):
    return torch.upsample_nearest2d(x, [10, 12]), torch.upsample_bilinear2d(x, [10, 12], False)
)",
     {"float32[1,3,5,6]"},
     {"aten::upsample_bilinear2d"}},
    {"upsample_by_scales_of_large_images",
     R"(
def forward(self, x: Tensor):
    return torch.upsample_nearest2d(x, None, [1.002, 2.002])
)",
     {"float32[1,3,100,70]"}},
    {"padded_convolution",
     R"(
def forward(self, x: Tensor):
    y = torch.constant_pad_nd(x, [0, 1, 0, 1], 0.0)
    return torch.conv2d(y, self.weight(432, [16, 3, 3, 3]), None, [2, 2])
)",
     {"float32[1,3,8,8]"}},
    {"pixel_shuffle",
     R"(
def forward(self, x: Tensor):
    return torch.pixel_shuffle(x, 2)
)",
     {"float32[1,8,4,5]"}},
    {"dense_block",
     R"(
def forward(self, x: Tensor):
    y = torch.conv2d(torch.relu(x), self.weight(576, [8, 8, 3, 3]) * 0.2, None, [1, 1], [1, 1])
    z = torch.cat([x, y], 1)
    return torch.conv2d(torch.relu(z), self.weight(1152, [8, 16, 3, 3]) * 0.2, None, [1, 1], [1, 1])
)",
     {"float32[1,8,9,9]"}},
};
END_TO_END_TESTS(Convolution, kConvolutionCases);

const Case kAttentionCases[] = {
    {"sdpa",
     R"(
def forward(self, q: Tensor, k: Tensor, v: Tensor):
    return torch.scaled_dot_product_attention(q, k, v)
)",
     {"float32[2,4,24,16]", "float32[2,4,24,16]", "float32[2,4,24,16]"}},
    {"sdpa_causal",
     R"(
def forward(self, q: Tensor, k: Tensor, v: Tensor):
    return torch.scaled_dot_product_attention(q, k, v, None, 0.0, True)
)",
     {"float32[1,4,24,16]", "float32[1,4,24,16]", "float32[1,4,24,16]"}},
    {"sdpa_float_mask",
     R"(
def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor):
    return torch.scaled_dot_product_attention(q, k, v, mask)
)",
     {"float32[2,4,10,16]", "float32[2,4,12,16]", "float32[2,4,12,16]",
      "float32[2,1,10,12]"}},
    {"sdpa_bool_mask",
     R"(
def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor):
    return torch.scaled_dot_product_attention(q, k, v, torch.eq(mask, 1))
)",
     {"float32[2,4,10,16]", "float32[2,4,12,16]", "float32[2,4,12,16]",
      "int64[2,1,10,12]{1..1}"}},
    {"sdpa_scale",
     R"(
def forward(self, q: Tensor, k: Tensor, v: Tensor):
    return torch.scaled_dot_product_attention(q, k, v, scale=0.3)
)",
     {"float32[1,2,9,8]", "float32[1,2,9,8]", "float32[1,2,9,20]"}},
    {"written_out",
     R"(
def forward(self, q: Tensor, k: Tensor, v: Tensor):
    scores = torch.matmul(q, torch.transpose(k, -2, -1)) / 4.0
    return torch.matmul(torch.softmax(scores, -1), v)
)",
     {"float32[2,4,24,16]", "float32[2,4,24,16]", "float32[2,4,24,16]"}},
    {"written_out_causal",
     R"(
def forward(self, q: Tensor, k: Tensor, v: Tensor):
    scores = torch.matmul(q, torch.transpose(k, -2, -1)) * 0.25
    mask = torch.tril(torch.ones([24, 24], dtype=11))
    scores = torch.where(mask, scores, torch.full([], -1e9))
    return torch.matmul(torch.softmax(scores, -1), v)
)",
     {"float32[2,4,24,16]", "float32[2,4,24,16]", "float32[2,4,24,16]"}},
    // Keys that are not seen are infinite, or NaN where they are 0.
    {"written_out_bias_and_mask",
     R"(
def forward(self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor, seen: Tensor):
    k = k / seen.unsqueeze(-1)
    scores = torch.matmul(q, torch.transpose(k, -2, -1)) * 0.25 + bias
    scores = torch.masked_fill(scores, torch.eq(seen, 0).unsqueeze(1), float("-inf"))
    low = torch.matmul(q, torch.transpose(k, -2, -1)) + bias
    low = torch.where(torch.eq(seen, 1).unsqueeze(1), low, torch.full([], -2.0))
    return torch.matmul(torch.softmax(scores, -1), v), torch.matmul(torch.softmax(low, -1), v)
)",
     {"float32[3,9,16]", "float32[3,20,16]", "float32[3,20,16]",
      "float32[9,20]", "int64[3,20]{0..1}"}},
    {"self_attention_block",
     R"(
def forward(self, x: Tensor):
    qkv = torch.linear(x, self.weight(12288, [192, 64]) * 0.2, self.weight(192, [192]))
    q, k, v = torch.chunk(qkv, 3, -1)
    q = torch.transpose(q.view([2, 10, 4, 16]), 1, 2)
    k = torch.transpose(k.view([2, 10, 4, 16]), 1, 2)
    v = torch.transpose(v.view([2, 10, 4, 16]), 1, 2)
    y = torch.scaled_dot_product_attention(q, k, v)
    y = torch.reshape(torch.transpose(y, 1, 2), [2, 10, 64])
    return x + torch.linear(y, self.weight(4096, [64, 64]) * 0.2, self.weight(64, [64]))
)",
     {"float32[2,10,64]"}},
    {"grouped_query",
     R"(
def forward(self, q: Tensor, k: Tensor, v: Tensor):
    return torch.scaled_dot_product_attention(q, k, v, None, 0.0, False, enable_gqa=True)
)",
     {"float32[1,8,6,16]", "float32[1,2,6,16]", "float32[1,2,6,16]"}},
    {"rotary_embedding",
     R"(
def forward(self, x: Tensor, position: Tensor):
    frequencies = torch.outer(position, torch.pow(10000.0, torch.arange(8, dtype=6) * -0.125))
    angles = torch.cat([frequencies, frequencies], -1)
    x1, x2 = torch.chunk(x, 2, -1)
    rotated = torch.cat([-x2, x1], -1)
    return x * torch.cos(angles) + rotated * torch.sin(angles)
)",
     {"float32[2,4,10,16]", "float32[10]{0..10}"}},
};
END_TO_END_TESTS(Attention, kAttentionCases);

}  // namespace
}  // namespace aitune
