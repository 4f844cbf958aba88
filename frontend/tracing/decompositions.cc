#include "frontend/tracing/decompositions.h"

#include <map>
#include <string>
#include <utility>

#include "frontend/torchscript/source_graph.h"
#include "frontend/tracing/operator_traits.h"

namespace aitune::frontend {
namespace {

using Arguments = std::vector<ProbedRef>;
using Kind = ProbedValue::Kind;

// Attention layers of PyTorch's fast path, without masks.
constexpr char kAttention[] = R"(
def self_attention(x: Tensor, embed_dim: int, num_head: int, qkv_weight: Tensor, qkv_bias: Tensor, proj_weight: Tensor, proj_bias: Tensor) -> Tensor:
  batch = x.size(0)
  length = x.size(1)
  parts = torch.linear(x, qkv_weight, qkv_bias).chunk(3, 2)
  q = parts[0].reshape([batch, length, num_head, embed_dim // num_head]).transpose(1, 2)
  k = parts[1].reshape([batch, length, num_head, embed_dim // num_head]).transpose(1, 2)
  v = parts[2].reshape([batch, length, num_head, embed_dim // num_head]).transpose(1, 2)
  y = torch.scaled_dot_product_attention(q, k, v)
  y = y.transpose(1, 2).reshape([batch, length, embed_dim])
  return torch.linear(y, proj_weight, proj_bias)

def multi_head_attention(query: Tensor, key: Tensor, value: Tensor, embed_dim: int, num_head: int, qkv_weight: Tensor, qkv_bias: Tensor, proj_weight: Tensor, proj_bias: Tensor, mask: Optional[Tensor], need_weights: bool, average_attn_weights: bool, mask_type: Optional[int]) -> Tuple[Tensor, Optional[Tensor]]:
  return self_attention(query, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias), None

def encoder_layer(src: Tensor, embed_dim: int, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, proj_weight: Tensor, proj_bias: Tensor, use_gelu: bool, norm_first: bool, eps: float, norm_weight_1: Tensor, norm_bias_1: Tensor, norm_weight_2: Tensor, norm_bias_2: Tensor, ffn_weight_1: Tensor, ffn_bias_1: Tensor, ffn_weight_2: Tensor, ffn_bias_2: Tensor, mask: Optional[Tensor], mask_type: Optional[int]) -> Tensor:
  x = torch.layer_norm(src, [embed_dim], norm_weight_1, norm_bias_1, eps) if norm_first else src
  x = src + self_attention(x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias)
  if not norm_first:
    x = torch.layer_norm(x, [embed_dim], norm_weight_1, norm_bias_1, eps)
  y = torch.layer_norm(x, [embed_dim], norm_weight_2, norm_bias_2, eps) if norm_first else x
  y = torch.linear(y, ffn_weight_1, ffn_bias_1)
  y = torch.gelu(y) if use_gelu else torch.relu(y)
  x = x + torch.linear(y, ffn_weight_2, ffn_bias_2)
  if not norm_first:
    x = torch.layer_norm(x, [embed_dim], norm_weight_2, norm_bias_2, eps)
  return x
)";

// Traces of models that may be exported ask for sizes as a tensor. Its elements
// are sizes and not data.
constexpr char kSizes[] = R"(
def shape_as_tensor(x: Tensor) -> Tensor:
  return torch.tensor(x.size())
)";

bool IsNone(const ProbedValue& value) {
  return value.kind == Kind::kPlain && value.probes[0].isNone();
}

// Distances of all pairs of rows. As LibTorch does for more than 25 rows, those
// of long rows come from a product, |a - b|^2 = |a|^2 + |b|^2 - 2 ab; short
// rows are subtracted, which takes no longer and loses no digits. The largest
// of differences is of those that are not NaN.
constexpr char kDistances[] = R"(
def cdist(x1: Tensor, x2: Tensor, p: float, compute_mode: Optional[int]) -> Tensor:
  mode = 0 if compute_mode is None else compute_mode
  if p == 2. and x1.size(-1) >= 16 and mode != 2:
    if mode == 1 or x1.size(-2) > 25 or x2.size(-2) > 25:
      squares = x1.square().sum(-1, True) + x2.square().sum(-1).unsqueeze(-2)
      return (squares - 2 * torch.matmul(x1, x2.transpose(-1, -2))).clamp_min(0).sqrt()
  d = (x1.unsqueeze(-2) - x2.unsqueeze(-3)).abs()
  if p == 1.:
    return d.sum(-1)
  if p == 2.:
    return d.square().sum(-1).sqrt()
  if p == float('inf'):
    return torch.where(d == d, d, torch.zeros_like(d)).amax(-1)
  return d.pow(p).sum(-1).pow(1 / p)
)";

// Columns of patches, [..., channels * taps, patches]: the rows and then the
// columns of the image that the taps of patches are of.
constexpr char kPatches[] = R"(
def im2col(image: Tensor, kernel_size: List[int], dilation: List[int], padding: List[int], stride: List[int]) -> Tensor:
  sizes = image.size()
  assert sizes[-3] > 0 and sizes[-2] > 0 and sizes[-1] > 0
  counts: List[int] = []
  value = torch.constant_pad_nd(image, [padding[1], padding[1], padding[0], padding[0]])
  for axis in range(2):
    dim = axis - 2
    count = (value.size(dim) - dilation[axis] * (kernel_size[axis] - 1) - 1) // stride[axis] + 1
    assert count > 0
    taps = torch.arange(kernel_size[axis], device=image.device) * dilation[axis]
    places = taps.unsqueeze(1) + torch.arange(count, device=image.device) * stride[axis]
    value = value.index_select(dim, places.flatten())
    counts.append(count)
  channels = sizes[-3] * kernel_size[0] * kernel_size[1]
  value = value.view(sizes[:-2] + [kernel_size[0], counts[0], kernel_size[1], counts[1]])
  return value.transpose(-3, -2).reshape(sizes[:-3] + [channels, counts[0] * counts[1]])
)";

std::optional<int64_t> UniformInteger(const ProbedValue& value) {
  if (value.kind != Kind::kPlain || !value.uniform) return std::nullopt;
  if (value.probes[0].isBool()) return value.probes[0].toBool();
  if (value.probes[0].isInt()) return value.probes[0].toInt();
  return std::nullopt;
}

// nn.MultiheadAttention of one tensor with itself, no mask, no weights asked.
bool IsPlainSelfAttention(const Arguments& arguments) {
  return arguments.size() == 13 && arguments[0] == arguments[1] &&
         arguments[0] == arguments[2] && IsNone(*arguments[9]) &&
         UniformInteger(*arguments[10]) == 0 && arguments[0]->IsTensor() &&
         arguments[0]->has_type && arguments[0]->type.sizes.size() == 3;
}

bool IsPlainEncoderLayer(const Arguments& arguments) {
  return arguments.size() == 20 && IsNone(*arguments[18]) &&
         arguments[0]->IsTensor() && arguments[0]->has_type &&
         arguments[0]->type.sizes.size() == 3;
}

bool HasKnownSizes(const Arguments& arguments) {
  return arguments.size() == 1 && arguments[0]->IsTensor() &&
         arguments[0]->has_type;
}

// The distances of rows whose number is fixed, where it decides how they are
// computed; no p of 0, which counts differences.
bool AreDistances(const Arguments& arguments) {
  if (arguments.size() != 4 || arguments[2]->kind != Kind::kPlain ||
      !arguments[2]->uniform || !arguments[2]->probes[0].isDouble() ||
      arguments[2]->probes[0].toDouble() <= 0)
    return false;
  bool is_fixed = true;
  for (const ProbedRef& rows : {arguments[0], arguments[1]}) {
    if (!rows->IsTensor() || !rows->has_type ||
        (rows->type.dtype != DataType::kFloat32 &&
         rows->type.dtype != DataType::kFloat64) ||
        rows->type.sizes.size() < 2 ||
        rows->type.sizes.back().constant().value_or(0) < 1)
      return false;
    is_fixed = is_fixed && rows->type.sizes.end()[-2].constant().has_value();
  }
  return is_fixed || arguments[2]->probes[0].toDouble() != 2 ||
         *arguments[0]->type.sizes.back().constant() < 16;
}

// An image with channels, or several, and numbers that im2col takes: it says
// what is wrong with others itself.
bool ArePatches(const Arguments& arguments) {
  if (arguments.size() != 5 || !arguments[0]->IsTensor() ||
      !arguments[0]->has_type)
    return false;
  const std::vector<SizeExpression>& sizes = arguments[0]->type.sizes;
  if (sizes.size() != 3 && sizes.size() != 4) return false;
  for (size_t i = 1; i < 5; ++i) {
    if (arguments[i]->kind != Kind::kList || arguments[i]->elements.size() != 2)
      return false;
    for (const ProbedRef& element : arguments[i]->elements) {
      const int64_t least = i == 3 ? 0 : 1;  // of the padding
      if (UniformInteger(*element).value_or(-1) < least) return false;
    }
  }
  for (size_t axis = 0; axis < 2; ++axis) {
    const auto number = [&](size_t argument) {
      return *UniformInteger(*arguments[argument]->elements[axis]);
    };
    const std::optional<int64_t> size =
        sizes[sizes.size() - 2 + axis].constant();
    if (size && *size + 2 * number(3) <= number(2) * (number(1) - 1))
      return false;
  }
  return true;
}

struct Decomposition {
  bool (*applies)(const Arguments&);
  const char* source;
  const char* function;
};

const std::map<std::string, Decomposition>& Decompositions() {
  static const auto* const kDecompositions =
      new std::map<std::string, Decomposition>{
          {"aten::_native_multi_head_attention",
           {IsPlainSelfAttention, kAttention, "multi_head_attention"}},
          {"aten::_transformer_encoder_layer_fwd",
           {IsPlainEncoderLayer, kAttention, "encoder_layer"}},
          {"aten::cdist", {AreDistances, kDistances, "cdist"}},
          {"aten::im2col", {ArePatches, kPatches, "im2col"}},
          {"aten::_shape_as_tensor",
           {HasKnownSizes, kSizes, "shape_as_tensor"}},
      };
  return *kDecompositions;
}

}  // namespace

std::shared_ptr<torch::jit::Graph> FindDecomposition(
    const c10::FunctionSchema& schema, const Arguments& arguments) {
  std::string name = schema.name();
  if (!schema.overload_name().empty()) name += "." + schema.overload_name();
  const auto found = Decompositions().find(name);
  if (found == Decompositions().end() || !found->second.applies(arguments) ||
      IsRandom(schema, arguments)) {
    return nullptr;
  }
  // Data that only LibTorch knows stays with the operator that reads it.
  if (AnyOpaque(arguments)) return nullptr;
  return GraphOfSource(found->second.source, found->second.function);
}

}  // namespace aitune::frontend
