// Convolutions of one, two and three dimensions; the dialect has those of two
// and three.
#include "absl/strings/str_cat.h"
#include "frontend/importer/registry.h"

namespace aitune::frontend {
namespace {

namespace ait = mlir::ait;
using llvm::SmallVector;
using mlir::AffineExpr;
using mlir::Value;

struct Convolution {
  Value input;   // [N, C, spatial...]
  Value filter;  // [O, I / groups, spatial...]
  SmallVector<int64_t> stride, padding, dilation,
      output_padding;  // one a spatial axis
  int64_t groups = 1;
  bool transposed = false;
  Sizes result_spatial;
};

Value Convolve(OpImporter& call, const Convolution& convolution) {
  const Sizes filter = call.SizesOf(convolution.filter);
  Sizes sizes = {
      call.SizesOf(convolution.input)[0],
      convolution.transposed ? filter[1] * convolution.groups : filter[0]};
  sizes.append(convolution.result_spatial);
  const mlir::Type type =
      call.TypeOf(sizes, call.DataTypeOf(convolution.input));
  if (convolution.transposed) {
    return ait::TransposedConvolutionOp::create(
        call.builder(), call.location(), type, convolution.input,
        convolution.filter, convolution.stride, convolution.padding,
        convolution.dilation, convolution.groups, convolution.output_padding);
  }
  return ait::ConvolutionOp::create(call.builder(), call.location(), type,
                                    convolution.input, convolution.filter,
                                    convolution.stride, convolution.padding,
                                    convolution.dilation, convolution.groups);
}

// A row of height 1.
Value Convolve1d(OpImporter& call, Convolution convolution) {
  convolution.input = call.Unsqueeze(convolution.input, 2);
  convolution.filter = call.Unsqueeze(convolution.filter, 2);
  for (auto* numbers : {&convolution.stride, &convolution.dilation})
    numbers->insert(numbers->begin(), 1);
  for (auto* numbers : {&convolution.padding, &convolution.output_padding})
    numbers->insert(numbers->begin(), 0);
  convolution.result_spatial.insert(convolution.result_spatial.begin(),
                                    call.Constant(1));
  return call.Squeeze(Convolve(call, convolution), {2});
}

// Reads the paddings "same" and "valid". If "same" needs different padding on
// both sides, the difference is padded here by an operation of its own.
absl::Status ReadNamedPadding(OpImporter& call, const std::string& mode,
                              Convolution& convolution) {
  const size_t spatial = convolution.stride.size();
  convolution.padding.assign(spatial, 0);
  if (mode == "valid") return absl::OkStatus();
  if (mode != "same")
    return Reject(absl::StrCat("padding '", mode, "' is unknown"));
  SmallVector<int64_t> low(spatial + 2, 0), high(spatial + 2, 0);
  for (size_t i = 0; i < spatial; ++i) {
    const std::optional<int64_t> kernel =
        call.StaticSize(call.SizesOf(convolution.filter)[2 + i]);
    if (!kernel) return Reject("a filter of static sizes is expected");
    const int64_t total = convolution.dilation[i] * (*kernel - 1);
    convolution.padding[i] = total / 2;
    high[2 + i] = total % 2;
  }
  convolution.input = call.Pad(convolution.input, low, high, 0);
  return absl::OkStatus();
}

absl::Status BuildConvolution(OpImporter& call, bool transposed) {
  Convolution convolution;
  AITUNE_ASSIGN_OR_RETURN(convolution.input, call.Tensor("input"));
  AITUNE_ASSIGN_OR_RETURN(convolution.filter, call.Tensor("weight"));
  AITUNE_ASSIGN_OR_RETURN(Value bias, call.OptionalTensor("bias"));
  const int64_t rank = call.RankOf(convolution.filter);
  const int64_t spatial = rank - 2;
  if (spatial < 1 || spatial > 3)
    return Reject(absl::StrCat("a filter of rank ", rank, " is not supported"));
  const bool batched = call.RankOf(convolution.input) == rank;
  if (!batched) {
    if (call.RankOf(convolution.input) != rank - 1)
      return Reject("input and filter don't fit in rank");
    convolution.input = call.Unsqueeze(convolution.input, 0);
  }
  if (!IsFloatingPoint(call.DataTypeOf(convolution.input)) ||
      call.DataTypeOf(convolution.input) !=
          call.DataTypeOf(convolution.filter)) {
    return Reject("input and filter must be of one floating dtype");
  }
  convolution.transposed = transposed;
  if (call.Find("transposed")) {
    AITUNE_ASSIGN_OR_RETURN(convolution.transposed, call.Bool("transposed"));
  }
  AITUNE_ASSIGN_OR_RETURN(convolution.stride, call.Ints("stride", spatial));
  AITUNE_ASSIGN_OR_RETURN(convolution.dilation, call.Ints("dilation", spatial));
  AITUNE_ASSIGN_OR_RETURN(convolution.groups, call.Int("groups"));
  convolution.output_padding.assign(spatial, 0);
  if (call.Find("output_padding")) {
    AITUNE_ASSIGN_OR_RETURN(convolution.output_padding,
                            call.Ints("output_padding", spatial));
  }
  const Argument* padding = call.Find("padding");
  if (padding && std::holds_alternative<std::string>(*padding)) {
    AITUNE_RETURN_IF_ERROR(
        ReadNamedPadding(call, std::get<std::string>(*padding), convolution));
  } else {
    AITUNE_ASSIGN_OR_RETURN(convolution.padding, call.Ints("padding", spatial));
  }
  const Sizes result_sizes = call.ResultSizes();
  if (static_cast<int64_t>(result_sizes.size()) !=
      (batched ? rank : rank - 1)) {
    return Reject("the result's rank is not the input's");
  }
  convolution.result_spatial.assign(result_sizes.end() - spatial,
                                    result_sizes.end());

  for (int64_t axis = 0; axis < rank; ++axis) {
    if (!call.StaticSize(call.SizesOf(convolution.filter)[axis]))
      return Reject("a filter of static sizes is expected");
  }
  Value result = spatial == 1 ? Convolve1d(call, convolution)
                              : Convolve(call, convolution);
  if (bias) {
    Sizes sizes(rank, call.Constant(1));
    sizes[1] = call.Product(call.SizesOf(bias));
    result = call.Add(result, call.Reshape(bias, sizes));
  }
  return call.SetResult(batched ? result : call.Squeeze(result, {0}));
}

}  // namespace

void RegisterConvolutionOps(Registry& registry) {
  registry.Add({"conv1d", "conv2d", "conv3d", "convolution", "_convolution",
                "_convolution_mode"},
               [](OpImporter& call) { return BuildConvolution(call, false); });
  registry.Add({"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"},
               [](OpImporter& call) { return BuildConvolution(call, true); });
}

}  // namespace aitune::frontend
