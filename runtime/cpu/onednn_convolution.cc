#include <algorithm>

#include "absl/strings/match.h"
#include "runtime/cpu/onednn_internal.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

using dnnl::memory;
using onednn::Dims;

// A convolution's sizes in oneDNN's order of axes: batch, channels, spatial.
struct Shape {
  Dims source, destination;
  Dims filter;          // [G,] O, I, spatial...
  Dims filter_strides;  // strides of the filter in the plan
  Dims stride, dilation, padding_low, padding_high;
};

// [N, spatial..., C] to [N, C, spatial...].
Dims ChannelsFirst(const std::vector<int64_t>& sizes) {
  Dims dims = {sizes.front(), sizes.back()};
  dims.insert(dims.end(), sizes.begin() + 1, sizes.end() - 1);
  return dims;
}

// A dense [N, spatial..., C] tensor, seen as [N, C, spatial...].
memory::desc ChannelsLast(const Dims& dims, memory::data_type type) {
  Dims strides(dims.size());
  int64_t stride = 1;
  auto take = [&](size_t axis) {
    strides[axis] = stride;
    stride *= std::max<int64_t>(dims[axis], 1);
  };
  take(1);
  for (size_t axis = dims.size(); axis-- > 2;) take(axis);
  take(0);
  return memory::desc(dims, type, strides);
}

bool IsEmpty(const Dims& dims) {
  return std::find(dims.begin(), dims.end(), 0) != dims.end();
}

// Keeps the arithmetic on sizes and attributes far from overflow.
template <typename Numbers = std::vector<int64_t>>
bool AreModerate(const Numbers& numbers) {
  constexpr int64_t kMost = int64_t{1} << 30;
  return std::all_of(numbers.begin(), numbers.end(), [](int64_t number) {
    return -kMost <= number && number <= kMost;
  });
}

absl::Status ShapeError(absl::Span<const LibraryOperand> inputs,
                        const TensorView& output, const std::string& reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("convolution of ", SizesToString(inputs[0].view.sizes),
                   " with the filter ", SizesToString(inputs[1].view.sizes),
                   " to ", SizesToString(output.sizes), ": ", reason));
}

// The filter's dims and strides with the group axis split off.
void DescribeFilter(const ConvolutionCall& call,
                    const std::vector<int64_t>& filter, Shape& shape) {
  const int64_t groups = call.groups();
  int64_t window = 1;
  for (size_t i = 2; i < filter.size(); ++i) window *= filter[i];
  const int64_t outputs = filter[0] / groups, inputs = filter[1];
  const int64_t input_stride = window, output_stride = inputs * window;
  const int64_t group_stride = outputs * output_stride;
  if (groups > 1) {
    shape.filter = {groups};
    shape.filter_strides = {group_stride};
  }
  shape.filter.insert(shape.filter.end(), {outputs, inputs});
  shape.filter_strides.insert(shape.filter_strides.end(),
                              {output_stride, input_stride});
  for (size_t i = 2; i < filter.size(); ++i) {
    window /= filter[i];
    shape.filter.push_back(filter[i]);
    shape.filter_strides.push_back(window);
  }
}

absl::StatusOr<Shape> CheckShape(const ConvolutionCall& call,
                                 absl::Span<const LibraryOperand> inputs,
                                 const TensorView& output) {
  if (inputs.size() < 2) {
    return absl::InvalidArgumentError("convolution: it has no filter");
  }
  const std::vector<int64_t>& filter = inputs[1].view.sizes;
  const size_t rank = inputs[0].view.sizes.size();
  const int axes = static_cast<int>(rank) - 2;
  if (rank < 3 || rank > 5 || filter.size() != rank ||
      output.sizes.size() != rank || call.stride_size() != axes ||
      call.dilation_size() != axes || call.padding_low_size() != axes ||
      call.padding_high_size() != axes || call.groups() < 1) {
    return ShapeError(inputs, output, "the ranks do not fit each other");
  }
  if (!AreModerate(filter) || !AreModerate(inputs[0].view.sizes) ||
      !AreModerate(output.sizes) || !AreModerate({call.groups()}) ||
      !AreModerate(call.stride()) || !AreModerate(call.dilation()) ||
      !AreModerate(call.padding_low()) || !AreModerate(call.padding_high())) {
    return ShapeError(inputs, output, "a size or attribute is out of range");
  }
  Shape shape;
  shape.source = ChannelsFirst(inputs[0].view.sizes);
  shape.destination = ChannelsFirst(output.sizes);
  if (filter[1] * call.groups() != shape.source[1] ||
      filter[0] != shape.destination[1] || filter[0] % call.groups() != 0 ||
      shape.source[0] != shape.destination[0]) {
    return ShapeError(inputs, output,
                      absl::StrCat("the channels or batches do not fit (",
                                   call.groups(), " groups)"));
  }
  for (int axis = 0; axis < axes; ++axis) {
    const int64_t low = call.padding_low(axis), stride = call.stride(axis);
    const int64_t dilation = call.dilation(axis);
    const int64_t high = call.padding_high(axis);
    const int64_t in = shape.source[axis + 2],
                  out = shape.destination[axis + 2];
    const int64_t reach = dilation * (filter[axis + 2] - 1) + 1;
    if (stride < 1 || dilation < 1) {
      return ShapeError(inputs, output, "a stride or dilation is below 1");
    }
    const int64_t expected = (in + low + high - reach) / stride + 1;
    if (expected != out || in + low + high < reach) {
      return ShapeError(inputs, output,
                        absl::StrCat("spatial axis ", axis, " of the output ",
                                     "should have the size ", expected));
    }
    shape.stride.push_back(stride);
    shape.dilation.push_back(dilation - 1);
    shape.padding_low.push_back(low);
    shape.padding_high.push_back(high);
  }
  DescribeFilter(call, filter, shape);
  return shape;
}

dnnl::convolution_forward::primitive_desc Descriptor(
    const Shape& shape, const onednn::CallParts& parts) {
  using Primitive = dnnl::convolution_forward;
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  if (parts.post_ops.bias >= 0) {
    return Primitive::primitive_desc(
        onednn::Engine(), kind, algorithm, parts.source, parts.weights,
        parts.bias, parts.destination, shape.stride, shape.dilation,
        shape.padding_low, shape.padding_high, parts.post_ops.attributes);
  }
  return Primitive::primitive_desc(
      onednn::Engine(), kind, algorithm, parts.source, parts.weights,
      parts.destination, shape.stride, shape.dilation, shape.padding_low,
      shape.padding_high, parts.post_ops.attributes);
}

// Whether the code spreads NaN and infinities: it multiplies elements of a
// neighbour with zeros. oneDNN 3.2's AMX code for images of up to 4 channels
// does so, as it takes a window's row as one run of elements, and its code for
// pairs of bfloat16, with the channel behind an odd last one.
bool SpreadsNonFinite(
    const dnnl::convolution_forward::primitive_desc& descriptor,
    const Shape& shape) {
  const absl::string_view name = descriptor.impl_info_str();
  if (name == "jit:avx512_core_amx") return true;
  const int64_t inputs =
      shape.filter[shape.filter.size() - (shape.source.size() - 2) - 1];
  return inputs % 2 != 0 && absl::StartsWith(name, "brgconv") &&
         absl::EndsWith(name, ":avx512_core_bf16");
}

absl::StatusOr<std::unique_ptr<LibraryCall>> Finish(
    const Shape& shape, onednn::CallParts parts,
    absl::Span<const LibraryOperand> inputs, WeightCache* weights) {
  using Primitive = dnnl::convolution_forward;
  const Primitive::primitive_desc descriptor = Descriptor(shape, parts);
  std::unique_ptr<LibraryCall> exact;
  if (SpreadsNonFinite(descriptor, shape)) {
    // One of its own: looking for the next implementation changes it.
    Primitive::primitive_desc other = Descriptor(shape, parts);
    while (SpreadsNonFinite(other, shape)) {
      if (!other.next_impl()) {
        return absl::UnimplementedError(
            "oneDNN's only fast code for this convolution on this machine "
            "spreads NaN and infinities");
      }
    }
    AITUNE_ASSIGN_OR_RETURN(
        exact, onednn::FinishCall<Primitive>(other, parts, inputs, weights));
  }
  return onednn::FinishCall<Primitive>(descriptor, std::move(parts), inputs,
                                       weights, std::move(exact));
}

// Throws dnnl::error for what oneDNN refuses, a descriptor too.
absl::StatusOr<std::unique_ptr<LibraryCall>> MakeOrThrow(
    const ConvolutionCall& call, absl::Span<const LibraryOperand> inputs,
    const TensorView& output, int in_place, WeightCache* weights) {
  AITUNE_ASSIGN_OR_RETURN(const Shape shape, CheckShape(call, inputs, output));
  AITUNE_ASSIGN_OR_RETURN(const memory::data_type in_type,
                          onednn::ToOneDnn(inputs[0].view.dtype, "the input"));
  AITUNE_ASSIGN_OR_RETURN(const memory::data_type filter_type,
                          onednn::ToOneDnn(inputs[1].view.dtype, "the filter"));
  AITUNE_ASSIGN_OR_RETURN(const memory::data_type out_type,
                          onednn::ToOneDnn(output.dtype, "the output"));
  if (IsEmpty(shape.destination)) return onednn::EmptyCall();
  if (IsEmpty(shape.filter) || IsEmpty(shape.source)) {
    return absl::UnimplementedError(
        "convolution: the filter or the input has no elements");
  }
  onednn::CallParts parts;
  parts.source = ChannelsLast(shape.source, in_type);
  parts.destination = ChannelsLast(shape.destination, out_type);
  parts.weights_source =
      memory::desc(shape.filter, filter_type, shape.filter_strides);
  if (inputs[1].constant < 0) {
    return absl::UnimplementedError(
        "convolution: the filter is no constant, and oneDNN has no fast code "
        "for a filter in its plain layout");
  }
  parts.weights =
      memory::desc(shape.filter, filter_type, memory::format_tag::any);

  auto describe = [&](const LibraryOperand& operand,
                      bool bias) -> absl::StatusOr<memory::desc> {
    AITUNE_ASSIGN_OR_RETURN(
        const memory::data_type type,
        onednn::ToOneDnn(operand.view.dtype, "a post-op's operand"));
    const std::vector<int64_t>& sizes = operand.view.sizes;
    if (bias) {
      if (ElementCount(sizes) != shape.destination[1]) {
        return ShapeError(
            inputs, output,
            absl::StrCat("the bias has the sizes ", SizesToString(sizes)));
      }
      Dims dims(shape.destination.size(), 1);
      dims[1] = shape.destination[1];
      return ChannelsLast(dims, type);
    }
    bool fits = sizes.size() <= output.sizes.size();
    std::vector<int64_t> padded(fits ? output.sizes.size() - sizes.size() : 0,
                                1);
    padded.insert(padded.end(), sizes.begin(), sizes.end());
    for (size_t i = 0; fits && i < padded.size(); ++i) {
      fits = padded[i] == 1 || padded[i] == output.sizes[i];
    }
    if (!fits) {
      return ShapeError(
          inputs, output,
          absl::StrCat("a post-op's operand ", SizesToString(sizes),
                       " does not broadcast to the output"));
    }
    return ChannelsLast(ChannelsFirst(padded), type);
  };
  std::vector<const PostOp*> post_ops;
  for (const PostOp& op : call.post_ops()) post_ops.push_back(&op);
  AITUNE_ASSIGN_OR_RETURN(
      parts.post_ops,
      onednn::PlanPostOps(post_ops, inputs, output, in_place, describe));
  if (parts.post_ops.bias >= 0) {
    const LibraryOperand& bias = inputs[parts.post_ops.bias];
    AITUNE_RETURN_IF_ERROR(describe(bias, true).status());
    AITUNE_ASSIGN_OR_RETURN(const memory::data_type type,
                            onednn::ToOneDnn(bias.view.dtype, "the bias"));
    parts.bias = memory::desc({shape.destination[1]}, type, Dims{1});
  }
  return Finish(shape, std::move(parts), inputs, weights);
}

absl::StatusOr<std::unique_ptr<LibraryCall>> Make(
    const ConvolutionCall& call, absl::Span<const LibraryOperand> inputs,
    const TensorView& output, int in_place, WeightCache* weights) {
  try {
    return MakeOrThrow(call, inputs, output, in_place, weights);
  } catch (const dnnl::error& error) {
    return absl::UnimplementedError(absl::StrCat(
        "convolution of ", SizesToString(inputs[0].view.sizes),
        " with the filter ", SizesToString(inputs[1].view.sizes),
        ": oneDNN has no code for it on this machine (", error.what(), ")"));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<LibraryCall>> Prepare(
    const ConvolutionCall& call, absl::Span<const LibraryOperand> inputs,
    const TensorView& output, int in_place, WeightCache& weights) {
  return Make(call, inputs, output, in_place, &weights);
}

absl::Status Supports(const ConvolutionCall& call,
                      absl::Span<const LibraryOperand> inputs,
                      const TensorView& output) {
  return Make(call, inputs, output, -1, nullptr).status();
}

}  // namespace aitune
