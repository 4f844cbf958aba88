// Layers: convolutions, attention, normalisation, pooling, resizing and
// recurrent networks.
#include "tests/operators/operator_table.h"

namespace aitune {

std::vector<OperatorCall> NetworkCalls() {
  constexpr auto kSum = OperatorCall::Kind::kSum;
  return {
      {"conv1d",
       "torch.conv1d(m.unsqueeze(0), m.new_ones([2, 3, 3]), None, 1, 1)", kSum},
      {"conv1d", "torch.conv1d(m.unsqueeze(0), m[:, :1].unsqueeze(0))", kSum},
      {"conv1d", "torch.conv1d(m.unsqueeze(0), m.unsqueeze(0), None, 1, $n)",
       kSum},
      {"conv2d", "torch.conv2d(v, v.new_ones([6, 4, 3, 3]), None, 1, 1)", kSum},
      {"conv2d",
       "torch.conv2d(v, v.new_ones([4, 1, 3, 3]), v.new_ones([4]), 2, 1, 1, 4)",
       kSum},
      {"conv2d", "torch.conv2d(v, v.new_ones([6, 4, 1, 1]))", kSum},
      {"conv2d", "torch.conv2d(v, v.new_ones([6, 4, 3, 3]), None, 1, 2, 2)",
       kSum},
      {"conv2d", "torch.conv2d(v[:0], v.new_ones([6, 4, 3, 3]), None, 1, 1)",
       kSum},
      {"conv3d",
       "torch.conv3d(v.unsqueeze(0), v.new_ones([2, 1, 3, 3, 3]), None, 1, 1)",
       kSum},
      {"convolution",
       "torch.convolution(v, v.new_ones([6, 4, 3, 3]), None, [1, 1], [1, 1], "
       "[1, 1], False, [0, 0], 1)",
       kSum},
      {"_convolution",
       "torch._convolution(v, v.new_ones([6, 4, 3, 3]), None, [1, 1], [1, 1], "
       "[1, 1], False, [0, 0], 1, False, False, False, False)",
       kSum},
      {"_convolution_mode",
       "torch._convolution_mode(v, v.new_ones([6, 4, 3, 3]), None, [1, 1], "
       "'same', [1, 1], 1)",
       kSum},
      {"conv_transpose1d",
       "torch.conv_transpose1d(m.unsqueeze(0), m.new_ones([3, 2, 3]), None, 2, "
       "1)",
       kSum},
      {"conv_transpose2d",
       "torch.conv_transpose2d(v, v.new_ones([4, 2, 3, 3]), None, 2, 1, 1)",
       kSum},
      {"conv_transpose3d",
       "torch.conv_transpose3d(v.unsqueeze(0), v.new_ones([1, 2, 3, 3, 3]))",
       kSum},
      {"scaled_dot_product_attention",
       "torch.scaled_dot_product_attention(v, v, v)", kSum},
      {"scaled_dot_product_attention",
       "torch.scaled_dot_product_attention(v, v, v, is_causal=True)", kSum},
      {"scaled_dot_product_attention",
       "torch.scaled_dot_product_attention(v, v, v, s)", kSum},
      {"scaled_dot_product_attention",
       "torch.scaled_dot_product_attention(v, v[:, :, :0], v[:, :, :0])", kSum},
      {"scaled_dot_product_attention",
       "torch.scaled_dot_product_attention(v[:, :, :0], v, v)", kSum},
      {"_scaled_dot_product_flash_attention_for_cpu",
       "torch._scaled_dot_product_flash_attention_for_cpu(v, v, v)[0]", kSum},
      {"_native_multi_head_attention",
       "torch._native_multi_head_attention(m.t().unsqueeze(0), "
       "m.t().unsqueeze(0), m.t().unsqueeze(0), 3, 1, m.new_ones([9, 3]), "
       "m.new_ones([9]), m.new_ones([3, 3]), m.new_ones([3]), None, False)[0]",
       kSum},
      {"_transformer_encoder_layer_fwd",
       "torch._transformer_encoder_layer_fwd(m.t().unsqueeze(0), 3, 1, "
       "m.new_ones([9, 3]), m.new_ones([9]), m.new_ones([3, 3]), "
       "m.new_ones([3]), False, False, 1e-5, m.new_ones([3]), m.new_ones([3]), "
       "m.new_ones([3]), m.new_ones([3]), m.new_ones([5, 3]), m.new_ones([5]), "
       "m.new_ones([3, 5]), m.new_ones([3]))",
       kSum},
      {"layer_norm", "torch.layer_norm(m, [$n])", kSum},
      {"layer_norm", "torch.layer_norm(m, [$n], x, y)", kSum},
      {"layer_norm", "torch.layer_norm(m.t(), [3])", kSum},
      {"native_layer_norm",
       "torch.native_layer_norm(m, [$n], None, None, 1e-5)[0]", kSum},
      {"rms_norm", "torch.rms_norm(m, [$n])", kSum},
      {"rms_norm", "torch.rms_norm(m, [$n], x)", kSum},
      {"_fused_rms_norm", "torch._fused_rms_norm(m, [$n], None, 1e-5)[0]",
       kSum},
      {"group_norm", "torch.group_norm(v, 2)", kSum},
      {"group_norm", "torch.group_norm(v, 4, v.new_ones([4]))", kSum},
      {"native_group_norm",
       "torch.native_group_norm(v.contiguous(), None, None, 1, 4, $n * $n, 2, "
       "1e-5)[0]",
       kSum},
      {"instance_norm",
       "torch.instance_norm(v, None, None, None, None, True, 0.1, 1e-5, False)",
       kSum},
      {"batch_norm",
       "torch.batch_norm(v, None, None, v.new_zeros([4]), v.new_ones([4]), "
       "False, 0.1, 1e-5, False)",
       kSum},
      {"native_batch_norm",
       "torch.native_batch_norm(v, None, None, v.new_zeros([4]), "
       "v.new_ones([4]), False, 0.1, 1e-5)[0]",
       kSum},
      {"_native_batch_norm_legit_no_training",
       "torch._native_batch_norm_legit_no_training(v, None, None, "
       "v.new_zeros([4]), v.new_ones([4]), 0.1, 1e-5)[0]",
       kSum},
      {"_weight_norm", "torch._weight_norm(m, m[:, :1], 0)", kSum},
      {"im2col", "torch.im2col(v, [2, 2], [1, 1], [1, 1], [1, 1])", kSum},
      {"col2im",
       "torch.col2im(torch.im2col(v, [2, 2], [1, 1], [1, 1], [1, 1]), [$n, "
       "$n], [2, 2], [1, 1], [1, 1], [1, 1])",
       kSum},
      // Patches that touch, overlap by a part, leave gaps, and are spread.
      {"col2im",
       "torch.col2im(torch.im2col(v, [2, 2], [1, 1], [1, 1], [2, 2]), [$n, "
       "$n], [2, 2], [1, 1], [1, 1], [2, 2])",
       kSum},
      {"col2im",
       "torch.col2im(torch.im2col(v, [3, 2], [1, 1], [1, 1], [2, 1]), [$n, "
       "$n], [3, 2], [1, 1], [1, 1], [2, 1])",
       kSum},
      {"col2im",
       "torch.col2im(torch.im2col(v, [1, 2], [1, 1], [0, 1], [2, 3]), [$n, "
       "$n], [1, 2], [1, 1], [0, 1], [2, 3])",
       kSum},
      {"col2im",
       "torch.col2im(torch.im2col(v, [2, 2], [2, 1], [1, 1], [1, 2]), [$n, "
       "$n], [2, 2], [2, 1], [1, 1], [1, 2])",
       kSum},
      {"max_pool1d", "torch.max_pool1d(m, 2, 1, 1)"},
      {"max_pool1d", "torch.max_pool1d(m, 3)"},
      {"max_pool1d_with_indices", "torch.max_pool1d_with_indices(m, 2, 1, 1)"},
      {"max_pool2d", "torch.max_pool2d(v, 2)"},
      {"max_pool2d", "torch.max_pool2d(v, 3, 2, 1)"},
      {"max_pool2d_with_indices", "torch.max_pool2d_with_indices(v, 3, 2, 1)"},
      {"max_pool3d", "torch.max_pool3d(v.unsqueeze(0), 2)"},
      {"max_pool3d_with_indices",
       "torch.max_pool3d_with_indices(v.unsqueeze(0), 2)"},
      {"avg_pool1d", "torch.avg_pool1d(m, 2, 1, 1)", kSum},
      {"avg_pool2d", "torch.avg_pool2d(v, 2)", kSum},
      {"avg_pool2d", "torch.avg_pool2d(v, 3, 2, 1, False, False)", kSum},
      {"avg_pool2d", "torch.avg_pool2d(v, 3, 2, 1, True)", kSum},
      {"avg_pool3d", "torch.avg_pool3d(v.unsqueeze(0), 2)", kSum},
      {"adaptive_avg_pool1d", "torch.adaptive_avg_pool1d(m, [2])", kSum},
      {"adaptive_max_pool1d", "torch.adaptive_max_pool1d(m, [2])"},
      {"adaptive_avg_pool2d", "torch.adaptive_avg_pool2d(v, [2, 3])", kSum},
      {"adaptive_max_pool2d", "torch.adaptive_max_pool2d(v, [2, 3])"},
      {"adaptive_avg_pool3d",
       "torch.adaptive_avg_pool3d(v.unsqueeze(0), [2, 2, 1])", kSum},
      {"adaptive_max_pool3d",
       "torch.adaptive_max_pool3d(v.unsqueeze(0), [2, 2, 1])"},
      {"adaptive_avg_pool2d", "torch.adaptive_avg_pool2d(v, [1, 1])", kSum},
      {"upsample_nearest1d",
       "torch.upsample_nearest1d(m.unsqueeze(0), [2 * $n + 1])", kSum},
      {"upsample_nearest2d", "torch.upsample_nearest2d(v, [2 * $n, 3])", kSum},
      {"upsample_nearest3d",
       "torch.upsample_nearest3d(v.unsqueeze(0), [4, 3, 5])", kSum},
      {"_upsample_nearest_exact1d",
       "torch._upsample_nearest_exact1d(m.unsqueeze(0), [2 * $n + 1])", kSum},
      {"_upsample_nearest_exact2d",
       "torch._upsample_nearest_exact2d(v, [2 * $n, 3])", kSum},
      {"_upsample_nearest_exact3d",
       "torch._upsample_nearest_exact3d(v.unsqueeze(0), [4, 3, 5])", kSum},
      {"upsample_linear1d",
       "torch.upsample_linear1d(m.unsqueeze(0), [2 * $n + 1], False)", kSum},
      {"upsample_linear1d",
       "torch.upsample_linear1d(m.unsqueeze(0), [5], True)", kSum},
      {"upsample_bilinear2d",
       "torch.upsample_bilinear2d(v, [2 * $n, 3], False)", kSum},
      {"upsample_bilinear2d", "torch.upsample_bilinear2d(v, [3, 5], True)",
       kSum},
      {"upsample_trilinear3d",
       "torch.upsample_trilinear3d(v.unsqueeze(0), [4, 3, 5], False)", kSum},
      {"upsample_bicubic2d", "torch.upsample_bicubic2d(v, [2 * $n, 3], False)",
       kSum},
      // Factors that leave small sizes as they are, or double them nearly.
      {"upsample_nearest1d",
       "torch.upsample_nearest1d(m.unsqueeze(0), None, [1.05])", kSum},
      {"upsample_nearest2d", "torch.upsample_nearest2d(v, None, [1.05, 2.05])",
       kSum},
      {"_upsample_nearest_exact2d",
       "torch._upsample_nearest_exact2d(v, None, [1.05, 2.05])", kSum},
      {"upsample_linear1d",
       "torch.upsample_linear1d(m.unsqueeze(0), None, False, [1.05])", kSum},
      {"upsample_bilinear2d",
       "torch.upsample_bilinear2d(v, None, False, [1.05, 2.05])", kSum},
      {"upsample_trilinear3d",
       "torch.upsample_trilinear3d(v.unsqueeze(0), None, False, [1.05, 1.3, "
       "2.05])",
       kSum},
      {"upsample_bicubic2d",
       "torch.upsample_bicubic2d(v, None, False, [1.05, 2.05])", kSum},
      {"grid_sampler",
       "torch.grid_sampler(v, torch.stack([s, s.t()], 2).unsqueeze(0), 0, 0, "
       "False)",
       kSum},
      {"grid_sampler",
       "torch.grid_sampler(v, torch.stack([s, s.t()], 2).unsqueeze(0), 1, 0, "
       "False)",
       kSum},
      {"grid_sampler",
       "torch.grid_sampler(v, torch.stack([s, s.t()], 2).unsqueeze(0), 0, 1, "
       "False)",
       kSum},
      {"grid_sampler",
       "torch.grid_sampler(v, torch.stack([s, s.t()], 2).unsqueeze(0), 1, 1, "
       "False)",
       kSum},
      {"grid_sampler_2d",
       "torch.grid_sampler_2d(v, torch.stack([s, s.t()], 2).unsqueeze(0), 0, "
       "0, True)",
       kSum},
      {"lstm",
       "torch.lstm(m.t().unsqueeze(0), [m.new_zeros([1, 1, 3]), "
       "m.new_zeros([1, 1, 3])], [m.new_ones([12, m.size(0)]), "
       "m.new_ones([12, 3]), "
       "m.new_ones([12]), m.new_ones([12])], True, 1, 0., False, False, True)",
       kSum},
      {"lstm_cell",
       "torch.lstm_cell(m.t(), [m.t(), m.t()], m.new_ones([12, 3]), "
       "m.new_ones([12, 3]), m.new_ones([12]), m.new_ones([12]))",
       kSum},
      {"gru",
       "torch.gru(m.t().unsqueeze(0), m.new_zeros([1, 1, 3]), [m.new_ones([9, "
       "m.size(0)]), m.new_ones([9, 3]), m.new_ones([9]), m.new_ones([9])], "
       "True, 1, "
       "0., False, False, True)",
       kSum},
      {"gru_cell",
       "torch.gru_cell(m.t(), m.t(), m.new_ones([9, 3]), m.new_ones([9, 3]), "
       "m.new_ones([9]), m.new_ones([9]))",
       kSum},
      {"rnn_tanh",
       "torch.rnn_tanh(m.t().unsqueeze(0), m.new_zeros([1, 1, 3]), "
       "[m.new_ones([3, 3]), m.new_ones([3, 3]), m.new_ones([3]), "
       "m.new_ones([3])], True, 1, 0., False, False, True)",
       kSum},
      {"rnn_tanh_cell",
       "torch.rnn_tanh_cell(m.t(), m.t(), m.new_ones([3, 3]), m.new_ones([3, "
       "3]), m.new_ones([3]), m.new_ones([3]))",
       kSum},
      {"rnn_relu",
       "torch.rnn_relu(m.t().unsqueeze(0), m.new_zeros([1, 1, 3]), "
       "[m.new_ones([3, 3]), m.new_ones([3, 3]), m.new_ones([3]), "
       "m.new_ones([3])], True, 1, 0., False, False, True)",
       kSum},
      {"rnn_relu_cell",
       "torch.rnn_relu_cell(m.t(), m.t(), m.new_ones([3, 3]), m.new_ones([3, "
       "3]), m.new_ones([3]), m.new_ones([3]))",
       kSum},
      {"mse_loss", "torch.mse_loss(x, y)", kSum},
      {"mse_loss", "torch.mse_loss(x, y, 0)"},
      {"mse_loss", "torch.mse_loss(m, y, 2)", kSum},
      {"l1_loss", "torch.l1_loss(x, y)", kSum},
      {"smooth_l1_loss", "torch.smooth_l1_loss(x, y, 1, 0.5)", kSum},
      {"smooth_l1_loss", "torch.smooth_l1_loss(x, y, 0, 0.)"},
      {"huber_loss", "torch.huber_loss(x, y, 0, 1.5)"},
      {"binary_cross_entropy_with_logits",
       "torch.binary_cross_entropy_with_logits(x, y, None, None, 0)"},
      {"binary_cross_entropy_with_logits",
       "torch.binary_cross_entropy_with_logits(m, m * 0.5, z, y)", kSum},
      {"nll_loss", "torch.nll_loss(m.t(), i % 3)", kSum},
      {"nll_loss", "torch.nll_loss(m.t(), i % 3, None, 0, 1)"},
      {"nll_loss_nd",
       "torch.nll_loss_nd(v, (i % 4).expand([1, $n, $n]), None, 2)", kSum},
      {"cross_entropy_loss", "torch.cross_entropy_loss(m.t(), i % 3)", kSum},
      {"cross_entropy_loss",
       "torch.cross_entropy_loss(m.t(), i % 3, None, 1, 1)", kSum},
      {"cross_entropy_loss",
       "torch.cross_entropy_loss(v, (i % 4).expand([1, $n, $n]), None, 0)",
       kSum},
  };
}

}  // namespace aitune
