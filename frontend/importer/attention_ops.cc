// Attention, and the composites PyTorch's transformer modules run in eval mode.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/importer/normalization.h"
#include "frontend/importer/registry.h"

namespace aitune::frontend {
namespace {

namespace ait = mlir::ait;
using llvm::ArrayRef;
using mlir::AffineExpr;
using mlir::Value;

// query [..., T, D], key [..., S, D], value [..., S, E] with equal leading axes
// after broadcasting; mask (may be null) broadcasts to [..., T, S].
Value Attend(OpImporter& call, Value query, Value key, Value value, Value mask,
             double scale, bool is_causal, bool masked_rows_are_nan = false) {
  auto leading = [&](Value tensor) {
    Sizes sizes = call.SizesOf(tensor);
    sizes.truncate(sizes.size() - 2);
    return sizes;
  };
  Sizes batch = call.BroadcastSizes(
      call.BroadcastSizes(leading(query), leading(key)), leading(value));
  auto expand = [&](Value tensor) {
    Sizes sizes = batch;
    const Sizes own = call.SizesOf(tensor);
    sizes.append(own.end() - 2, own.end());
    return call.Expand(tensor, sizes);
  };
  query = expand(query);
  key = expand(key);
  value = expand(value);
  if (mask && call.DataTypeOf(mask) != DataType::kBool)
    mask = call.Convert(mask, call.DataTypeOf(query));
  Sizes sizes = call.SizesOf(query);
  sizes.back() = call.SizesOf(value).back();
  return ait::AttentionOp::create(call.builder(), call.location(),
                                  call.TypeOf(sizes, call.DataTypeOf(query)),
                                  query, key, value, mask, llvm::APFloat(scale),
                                  is_causal, masked_rows_are_nan,
                                  /*masked_score=*/nullptr);
}

// Repeats each head of [..., heads, S, D] until there are `heads`.
Value RepeatHeads(OpImporter& call, Value tensor, AffineExpr heads) {
  Sizes sizes = call.SizesOf(tensor);
  const size_t axis = sizes.size() - 3;
  if (call.SameSize(sizes[axis], heads)) return tensor;
  const std::optional<int64_t> wanted = call.StaticSize(heads),
                               present = call.StaticSize(sizes[axis]);
  if (!wanted || !present || *present == 0 || *wanted % *present != 0) {
    call.Fail("the heads of key or value don't divide those of the query");
    return tensor;
  }
  sizes.insert(sizes.begin() + axis + 1, call.Constant(*wanted / *present));
  return call.Flatten(call.Expand(call.Unsqueeze(tensor, axis + 1), sizes),
                      axis, axis + 1);
}

absl::Status BuildScaledDotProduct(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value query, call.Tensor("query"));
  AITUNE_ASSIGN_OR_RETURN(Value key, call.Tensor("key"));
  AITUNE_ASSIGN_OR_RETURN(Value value, call.Tensor("value"));
  AITUNE_ASSIGN_OR_RETURN(Value mask, call.OptionalTensor("attn_mask"));
  AITUNE_ASSIGN_OR_RETURN(double dropout, call.Double("dropout_p"));
  AITUNE_ASSIGN_OR_RETURN(bool is_causal, call.Bool("is_causal"));
  if (dropout != 0)
    return Reject(
        "dropout is random; call eval() on the model before exporting");
  for (Value tensor : {query, key, value}) {
    if (call.RankOf(tensor) < 2)
      return Reject("query, key and value need rank 2 at least");
    if (!IsFloatingPoint(call.DataTypeOf(tensor)) ||
        call.DataTypeOf(tensor) != call.DataTypeOf(query)) {
      return Reject("query, key and value must be of one floating dtype");
    }
  }
  for (int i = 1; i < static_cast<int>(call.op().results.size()); ++i) {
    if (call.IsResultUsed(i))
      return Reject("only the first result is supported");
  }
  double scale = 0;
  if (!call.IsNone("scale")) {
    AITUNE_ASSIGN_OR_RETURN(scale, call.Double("scale"));
  } else if (std::optional<int64_t> depth =
                 call.StaticSize(call.SizesOf(query).back());
             depth && *depth > 0) {
    scale = 1 / std::sqrt(static_cast<double>(*depth));
  } else {
    return Reject("the head size is not static");
  }
  bool grouped = false;
  if (call.Find("enable_gqa")) {
    AITUNE_ASSIGN_OR_RETURN(grouped, call.Bool("enable_gqa"));
  }
  if (grouped) {
    if (call.RankOf(query) < 3 || call.RankOf(key) < 3 ||
        call.RankOf(value) < 3) {
      return Reject("grouped heads need a tensor with heads");
    }
    const Sizes sizes = call.SizesOf(query);
    const AffineExpr heads = sizes[sizes.size() - 3];
    key = RepeatHeads(call, key, heads);
    value = RepeatHeads(call, value, heads);
  }
  return call.SetResult(
      Attend(call, query, key, value, mask, scale, is_causal));
}

// ---- Multi-head self-attention ----

struct SelfAttention {
  int64_t embedding = 0, heads = 0;
  Value qkv_weight, qkv_bias, out_weight, out_bias;
  Value mask;  // true: takes part; broadcasts to [B, heads, T, T]
};

absl::StatusOr<SelfAttention> ReadSelfAttention(OpImporter& call,
                                                const char* heads_name) {
  SelfAttention attention;
  AITUNE_ASSIGN_OR_RETURN(attention.embedding, call.Int("embed_dim"));
  AITUNE_ASSIGN_OR_RETURN(attention.heads, call.Int(heads_name));
  AITUNE_ASSIGN_OR_RETURN(attention.qkv_weight, call.Tensor("qkv_weight"));
  AITUNE_ASSIGN_OR_RETURN(attention.qkv_bias, call.OptionalTensor("qkv_bias"));
  AITUNE_ASSIGN_OR_RETURN(attention.out_weight, call.Tensor("proj_weight"));
  AITUNE_ASSIGN_OR_RETURN(attention.out_bias, call.OptionalTensor("proj_bias"));
  AITUNE_ASSIGN_OR_RETURN(Value mask, call.OptionalTensor("mask"));
  if (attention.heads < 1 || attention.embedding % attention.heads != 0) {
    return Reject(absl::StrCat(attention.heads, " heads don't divide ",
                               attention.embedding, " channels"));
  }
  if (mask) {
    int64_t kind = call.RankOf(mask) == 2 ? 0 : 2;
    if (!call.IsNone("mask_type")) {
      AITUNE_ASSIGN_OR_RETURN(kind, call.Int("mask_type"));
    }
    // Here true (or any number but 0) takes a position out.
    mask = call.LogicalNot(call.Convert(mask, DataType::kBool));
    if (kind == 1) {
      if (call.RankOf(mask) != 2)
        return Reject("a padding mask of rank 2 is expected");
      mask = call.Unsqueeze(call.Unsqueeze(mask, 1), 1);
    }
    attention.mask = mask;
  }
  return attention;
}

// x [B, T, embedding] -> the same; `weights`, if not null, receives the
// attention weights [B, heads, T, T].
Value AttendToSelf(OpImporter& call, const SelfAttention& attention, Value x,
                   Value* weights) {
  const Sizes sizes = call.SizesOf(x);
  const int64_t depth = attention.embedding / attention.heads;
  Value qkv = call.Linear(x, attention.qkv_weight, attention.qkv_bias);
  qkv =
      call.Reshape(qkv, {sizes[0], sizes[1], call.Constant(3),
                         call.Constant(attention.heads), call.Constant(depth)});
  auto part = [&](int64_t index) {
    return call.Permute(call.Squeeze(call.Slice(qkv, 2, index, 1), {2}),
                        {0, 2, 1, 3});
  };
  Value query = part(0), key = part(1), value = part(2);
  const double scale = 1 / std::sqrt(static_cast<double>(depth));
  // ATen computes the softmax of each row, also where all of it is masked.
  Value attended = Attend(call, query, key, value, attention.mask, scale,
                          /*is_causal=*/false,
                          /*masked_rows_are_nan=*/attention.mask != nullptr);
  if (weights) {
    Value scores =
        call.Multiply(call.Matmul(query, key, /*transpose_rhs=*/true), scale);
    if (attention.mask)
      scores =
          call.Where(attention.mask, scores, call.FullLike(-INFINITY, scores));
    *weights = call.Softmax(scores, 3);
  }
  Value joined = call.Reshape(call.Permute(attended, {0, 2, 1, 3}), sizes);
  return call.Linear(joined, attention.out_weight, attention.out_bias);
}

absl::Status CheckSequence(OpImporter& call, Value x,
                           const SelfAttention& attention) {
  if (call.RankOf(x) != 3 ||
      call.StaticSize(call.SizesOf(x)[2]) != attention.embedding) {
    return Reject("an input [batch, time, channels] is expected");
  }
  return absl::OkStatus();
}

absl::Status BuildMultiHeadAttention(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value query, call.Tensor("query"));
  AITUNE_ASSIGN_OR_RETURN(Value key, call.Tensor("key"));
  AITUNE_ASSIGN_OR_RETURN(Value value, call.Tensor("value"));
  AITUNE_ASSIGN_OR_RETURN(SelfAttention attention,
                          ReadSelfAttention(call, "num_head"));
  AITUNE_RETURN_IF_ERROR(CheckSequence(call, query, attention));
  if (query != key || query != value)
    return Reject("query, key and value are different tensors");
  const bool wants_weights =
      call.op().results.size() > 1 && call.IsResultUsed(1);
  Value weights;
  AITUNE_RETURN_IF_ERROR(call.SetResult(AttendToSelf(
      call, attention, query, wants_weights ? &weights : nullptr)));
  if (!wants_weights) return absl::OkStatus();
  AITUNE_ASSIGN_OR_RETURN(bool average, call.Bool("average_attn_weights"));
  if (average)
    weights = call.Squeeze(call.Reduce<ait::MeanOp>(weights, {1}), {1});
  return call.SetResult(weights, 1);
}

absl::Status BuildEncoderLayer(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value src, call.Tensor("src"));
  AITUNE_ASSIGN_OR_RETURN(SelfAttention attention,
                          ReadSelfAttention(call, "num_heads"));
  AITUNE_RETURN_IF_ERROR(CheckSequence(call, src, attention));
  AITUNE_ASSIGN_OR_RETURN(bool use_gelu, call.Bool("use_gelu"));
  AITUNE_ASSIGN_OR_RETURN(bool norm_first, call.Bool("norm_first"));
  AITUNE_ASSIGN_OR_RETURN(double eps, call.Double("eps"));
  Value norm_weights[2], norm_biases[2], ffn_weights[2], ffn_biases[2];
  for (int i = 0; i < 2; ++i) {
    AITUNE_ASSIGN_OR_RETURN(norm_weights[i],
                            call.Tensor(absl::StrCat("norm_weight_", i + 1)));
    AITUNE_ASSIGN_OR_RETURN(norm_biases[i],
                            call.Tensor(absl::StrCat("norm_bias_", i + 1)));
    AITUNE_ASSIGN_OR_RETURN(ffn_weights[i],
                            call.Tensor(absl::StrCat("ffn_weight_", i + 1)));
    AITUNE_ASSIGN_OR_RETURN(ffn_biases[i],
                            call.Tensor(absl::StrCat("ffn_bias_", i + 1)));
    if (call.RankOf(ffn_weights[i]) != 2)
      return Reject("weights of rank 2 are expected");
  }
  auto norm = [&](Value x, int index) {
    return LayerNorm(call, x, norm_weights[index], norm_biases[index], 1, eps);
  };
  Value x =
      AttendToSelf(call, attention, norm_first ? norm(src, 0) : src, nullptr);
  x = call.Add(x, src);
  if (!norm_first) x = norm(x, 0);
  Value hidden =
      call.Linear(norm_first ? norm(x, 1) : x, ffn_weights[0], ffn_biases[0]);
  hidden = use_gelu ? call.Unary<ait::GeluOp>(hidden, false)
                    : call.Unary<ait::ReluOp>(hidden);
  x = call.Add(call.Linear(hidden, ffn_weights[1], ffn_biases[1]), x);
  return call.SetResult(norm_first ? x : norm(x, 1));
}

}  // namespace

void RegisterAttentionOps(Registry& registry) {
  registry.Add({"scaled_dot_product_attention",
                "_scaled_dot_product_flash_attention_for_cpu"},
               BuildScaledDotProduct);
  registry.Add({"_native_multi_head_attention"}, BuildMultiHeadAttention);
  registry.Add({"_transformer_encoder_layer_fwd"}, BuildEncoderLayer);
}

}  // namespace aitune::frontend
