#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "runtime/cpu/onednn_internal.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

using dnnl::memory;
using onednn::Dims;

std::string Describe(const MatmulCall& call,
                     absl::Span<const LibraryOperand> inputs,
                     const TensorView& output) {
  return absl::StrCat("matmul of ", SizesToString(inputs[0].view.sizes),
                      call.transpose_lhs() ? "^T" : "", " and ",
                      SizesToString(inputs[1].view.sizes),
                      call.transpose_rhs() ? "^T" : "", " to ",
                      SizesToString(output.sizes));
}

int64_t Product(absl::Span<const int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1},
                         std::multiplies<int64_t>());
}

// How the output's axes are joined: group g is the axes
// [starts[g], starts[g + 1]). Fewer axes let oneDNN take its fast code.
using AxisGroups = std::vector<size_t>;

// The sizes of a tensor that broadcasts to `output`, one a group: each group
// must be whole or all 1. Nothing if it is neither.
std::optional<Dims> Join(absl::Span<const int64_t> sizes,
                         absl::Span<const int64_t> output,
                         const AxisGroups& starts) {
  if (sizes.size() > output.size()) return std::nullopt;
  std::vector<int64_t> padded(output.size() - sizes.size(), 1);
  padded.insert(padded.end(), sizes.begin(), sizes.end());
  Dims dims;
  for (size_t g = 0; g < starts.size(); ++g) {
    const size_t begin = starts[g];
    const size_t end = g + 1 < starts.size() ? starts[g + 1] : output.size();
    const absl::Span<const int64_t> own(padded.data() + begin, end - begin);
    const bool ones =
        std::all_of(own.begin(), own.end(), [](int64_t s) { return s == 1; });
    if (!ones && own != output.subspan(begin, end - begin)) {
      return std::nullopt;
    }
    dims.push_back(Product(own));
  }
  return dims;
}

// The descriptor of a matrix operand whose last two axes are `rows` and
// `columns`, stored the other way round when transposed.
memory::desc MatrixDescription(Dims batch, int64_t rows, int64_t columns,
                               bool transposed, memory::data_type dtype) {
  Dims stored = batch;
  stored.push_back(transposed ? columns : rows);
  stored.push_back(transposed ? rows : columns);
  Dims strides = onednn::DenseStrides(stored);
  if (transposed)
    std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  batch.push_back(rows);
  batch.push_back(columns);
  return memory::desc(batch, dtype, strides);
}

struct Shape {
  int64_t m = 0, n = 0, k = 0;
  std::vector<int64_t> lhs_batch, rhs_batch;
};

absl::StatusOr<Shape> CheckShape(const MatmulCall& call,
                                 absl::Span<const LibraryOperand> inputs,
                                 const TensorView& output) {
  if (inputs.size() < 2 || inputs[0].view.sizes.size() < 2 ||
      inputs[1].view.sizes.size() < 2 || output.sizes.size() < 2) {
    return absl::InvalidArgumentError(
        "matmul: two operands and an output of rank 2 or more are needed");
  }
  const std::vector<int64_t>&lhs = inputs[0].view.sizes,
        &rhs = inputs[1].view.sizes, &out = output.sizes;
  Shape shape;
  const size_t l = lhs.size() - 2, r = rhs.size() - 2, o = out.size() - 2;
  shape.m = lhs[call.transpose_lhs() ? l + 1 : l];
  shape.k = lhs[call.transpose_lhs() ? l : l + 1];
  shape.n = rhs[call.transpose_rhs() ? r : r + 1];
  shape.lhs_batch.assign(lhs.begin(), lhs.begin() + l);
  shape.rhs_batch.assign(rhs.begin(), rhs.begin() + r);
  bool fits = rhs[call.transpose_rhs() ? r + 1 : r] == shape.k &&
              out[o] == shape.m && out[o + 1] == shape.n && l <= o && r <= o;
  for (size_t i = 0; fits && i < o; ++i) {
    const int64_t a = i + l < o ? 1 : lhs[i + l - o];
    const int64_t b = i + r < o ? 1 : rhs[i + r - o];
    fits = out[i] == (a == 1 ? b : a) && (a == b || a == 1 || b == 1);
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        Describe(call, inputs, output), ": the sizes do not fit each other"));
  }
  return shape;
}

// One way to see the product: how axes are joined, and the operands' batches.
struct View {
  AxisGroups groups;
  Dims lhs_batch, rhs_batch, out_batch;
  int64_t m = 0;
};

// The views from the fewest axes to the most.
std::vector<View> Views(const MatmulCall& call, const Shape& shape,
                        const TensorView& output) {
  std::vector<View> views;
  const size_t rank = output.sizes.size(), batch_axes = rank - 2;
  const absl::Span<const int64_t> out_batch(output.sizes.data(), batch_axes);
  const int64_t batch = Product(out_batch);
  if (Product(shape.rhs_batch) == 1 && (!call.transpose_lhs() || batch == 1)) {
    // One right-hand side for all: the batch is more rows.
    views.push_back({{0, rank - 1}, {}, {}, {}, batch * shape.m});
  }
  const AxisGroups joined = {0, batch_axes, batch_axes + 1};
  const std::optional<Dims> lhs = Join(shape.lhs_batch, out_batch, {0});
  const std::optional<Dims> rhs = Join(shape.rhs_batch, out_batch, {0});
  if (batch_axes > 0 && lhs && rhs) {
    views.push_back({joined, *lhs, *rhs, {batch}, shape.m});
  }
  AxisGroups all(rank);
  std::iota(all.begin(), all.end(), 0);
  auto pad = [&](const std::vector<int64_t>& own) {
    Dims dims(batch_axes - own.size(), 1);
    dims.insert(dims.end(), own.begin(), own.end());
    return dims;
  };
  views.push_back({all, pad(shape.lhs_batch), pad(shape.rhs_batch),
                   Dims(out_batch.begin(), out_batch.end()), shape.m});
  return views;
}

// Throws dnnl::error for what oneDNN refuses, a descriptor too.
absl::StatusOr<std::unique_ptr<LibraryCall>> MakeWithView(
    const MatmulCall& call, absl::Span<const LibraryOperand> inputs,
    const TensorView& output, int in_place, WeightCache* weights,
    const Shape& shape, const View& view) {
  AITUNE_ASSIGN_OR_RETURN(const memory::data_type lhs_type,
                          onednn::ToOneDnn(inputs[0].view.dtype, "the lhs"));
  AITUNE_ASSIGN_OR_RETURN(const memory::data_type rhs_type,
                          onednn::ToOneDnn(inputs[1].view.dtype, "the rhs"));
  AITUNE_ASSIGN_OR_RETURN(const memory::data_type out_type,
                          onednn::ToOneDnn(output.dtype, "the output"));
  onednn::CallParts parts;
  // oneDNN writes nothing where there are no steps to add up; of one step whose
  // factors are 0 it writes the sum of none.
  const int64_t steps = std::max<int64_t>(shape.k, 1);
  parts.source = MatrixDescription(view.lhs_batch, view.m, steps,
                                   call.transpose_lhs(), lhs_type);
  parts.weights_source = MatrixDescription(view.rhs_batch, steps, shape.n,
                                           call.transpose_rhs(), rhs_type);
  parts.destination =
      MatrixDescription(view.out_batch, view.m, shape.n, false, out_type);
  parts.weights = parts.weights_source;
  if (shape.k == 0) {
    AITUNE_ASSIGN_OR_RETURN(
        AlignedBuffer zeros,
        AlignedBuffer::Allocate(static_cast<int64_t>(std::max(
            parts.source.get_size(), parts.weights_source.get_size()))));
    std::memset(zeros.data(), 0, static_cast<size_t>(zeros.bytes()));
    parts.zeros = std::make_shared<const AlignedBuffer>(std::move(zeros));
  } else if (inputs[1].constant >= 0) {
    parts.weights = memory::desc(parts.weights_source.get_dims(), rhs_type,
                                 memory::format_tag::any);
  }

  auto describe = [&](const LibraryOperand& operand,
                      bool bias) -> absl::StatusOr<memory::desc> {
    AITUNE_ASSIGN_OR_RETURN(
        const memory::data_type type,
        onednn::ToOneDnn(operand.view.dtype, "a post-op's operand"));
    if (bias && Product(operand.view.sizes) != shape.n) {
      return absl::InvalidArgumentError(absl::StrCat(
          "matmul: the bias has the sizes ", SizesToString(operand.view.sizes),
          " for ", shape.n, " columns"));
    }
    std::optional<Dims> dims =
        bias ? Join({shape.n}, output.sizes, view.groups)
             : Join(operand.view.sizes, output.sizes, view.groups);
    if (!dims) {
      return absl::UnimplementedError(absl::StrCat(
          "matmul: a post-op's operand ", SizesToString(operand.view.sizes),
          " does not broadcast to ", SizesToString(output.sizes)));
    }
    return memory::desc(*dims, type, onednn::DenseStrides(*dims));
  };
  const std::vector<const PostOp*> post_ops = [&] {
    std::vector<const PostOp*> ops;
    for (const PostOp& op : call.post_ops()) ops.push_back(&op);
    return ops;
  }();
  AITUNE_ASSIGN_OR_RETURN(
      parts.post_ops,
      onednn::PlanPostOps(post_ops, inputs, output, in_place, describe));
  if (parts.post_ops.bias >= 0) {
    AITUNE_ASSIGN_OR_RETURN(parts.bias,
                            describe(inputs[parts.post_ops.bias], true));
  }
  const dnnl::matmul::primitive_desc descriptor =
      parts.post_ops.bias >= 0
          ? dnnl::matmul::primitive_desc(
                onednn::Engine(), parts.source, parts.weights, parts.bias,
                parts.destination, parts.post_ops.attributes)
          : dnnl::matmul::primitive_desc(onednn::Engine(), parts.source,
                                         parts.weights, parts.destination,
                                         parts.post_ops.attributes);
  return onednn::FinishCall<dnnl::matmul>(descriptor, std::move(parts), inputs,
                                          weights);
}

absl::StatusOr<std::unique_ptr<LibraryCall>> Make(
    const MatmulCall& call, absl::Span<const LibraryOperand> inputs,
    const TensorView& output, int in_place, WeightCache* weights) {
  AITUNE_ASSIGN_OR_RETURN(const Shape shape, CheckShape(call, inputs, output));
  if (std::find(output.sizes.begin(), output.sizes.end(), 0) !=
      output.sizes.end()) {
    return onednn::EmptyCall();
  }
  absl::Status first_error;
  for (const View& view : Views(call, shape, output)) {
    absl::Status error;
    try {
      absl::StatusOr<std::unique_ptr<LibraryCall>> made =
          MakeWithView(call, inputs, output, in_place, weights, shape, view);
      if (made.ok()) return made;
      error = made.status();
    } catch (const dnnl::error& refusal) {
      error = absl::UnimplementedError(absl::StrCat(
          Describe(call, inputs, output), ": oneDNN has no code for it on ",
          "this machine (", refusal.what(), ")"));
    }
    if (first_error.ok()) first_error = error;
  }
  return first_error;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LibraryCall>> Prepare(
    const MatmulCall& call, absl::Span<const LibraryOperand> inputs,
    const TensorView& output, int in_place, WeightCache& weights) {
  return Make(call, inputs, output, in_place, &weights);
}

absl::Status Supports(const MatmulCall& call,
                      absl::Span<const LibraryOperand> inputs,
                      const TensorView& output) {
  return Make(call, inputs, output, -1, nullptr).status();
}

}  // namespace aitune
