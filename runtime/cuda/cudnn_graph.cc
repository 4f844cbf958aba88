#include "runtime/cuda/cudnn_graph.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

namespace aitune::cuda {
namespace {

absl::StatusOr<cudnnDataType_t> TypeOf(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat16:
      return CUDNN_DATA_HALF;
    case DataType::kBFloat16:
      return CUDNN_DATA_BFLOAT16;
    case DataType::kFloat32:
      return CUDNN_DATA_FLOAT;
    default:
      return absl::UnimplementedError(
          absl::StrCat("cuDNN: no convolution of ", std::string(Name(dtype))));
  }
}

// [N, C, spatial...] from sizes in memory order [N, spatial..., C]; one spatial
// axis becomes two, the least that cuDNN takes.
std::vector<int64_t> ChannelsFirst(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> result = {sizes.front(), sizes.back()};
  if (sizes.size() == 3) result.push_back(1);
  result.insert(result.end(), sizes.begin() + 1, sizes.end() - 1);
  return result;
}

std::vector<int64_t> ChannelsLastStrides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  strides[1] = stride;
  stride *= sizes[1];
  for (size_t i = sizes.size() - 1; i >= 2; --i) {
    strides[i] = stride;
    stride *= sizes[i];
  }
  strides[0] = stride;
  return strides;
}

}  // namespace

absl::StatusOr<const CudnnDescriptor*> ConvolutionGraph::AddTensor(
    int64_t id, cudnnDataType_t type, const std::vector<int64_t>& sizes,
    const std::vector<int64_t>& strides) {
  AITUNE_ASSIGN_OR_RETURN(
      CudnnDescriptor tensor,
      CudnnDescriptor::Create(library_, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  const bool is_virtual = id == 0;
  if (is_virtual) id = 1000 + virtual_ids_++;
  AITUNE_RETURN_IF_ERROR(tensor.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id));
  AITUNE_RETURN_IF_ERROR(tensor.Set(CUDNN_ATTR_TENSOR_DATA_TYPE, type));
  AITUNE_RETURN_IF_ERROR(tensor.Set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes));
  AITUNE_RETURN_IF_ERROR(tensor.Set(CUDNN_ATTR_TENSOR_STRIDES, strides));
  AITUNE_RETURN_IF_ERROR(
      tensor.Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, int64_t{16}));
  AITUNE_RETURN_IF_ERROR(tensor.Set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual));
  AITUNE_RETURN_IF_ERROR(tensor.Finalize());
  tensors_.push_back(std::make_unique<CudnnDescriptor>(std::move(tensor)));
  return tensors_.back().get();
}

absl::Status ConvolutionGraph::AddConvolution(const ConvolutionCall& call,
                                              const CudnnDescriptor& input,
                                              const CudnnDescriptor& filter,
                                              const CudnnDescriptor& output) {
  AITUNE_ASSIGN_OR_RETURN(
      CudnnDescriptor kind,
      CudnnDescriptor::Create(library_, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
  auto spatial = [](const google::protobuf::RepeatedField<int64_t>& values,
                    int64_t neutral) {
    std::vector<int64_t> result(values.begin(), values.end());
    if (result.size() == 1) result.insert(result.begin(), neutral);
    return result;
  };
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  const std::vector<int64_t> stride = spatial(call.stride(), 1);
  AITUNE_RETURN_IF_ERROR(kind.Set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS,
                                  static_cast<int64_t>(stride.size())));
  AITUNE_RETURN_IF_ERROR(
      kind.Set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT));
  AITUNE_RETURN_IF_ERROR(kind.Set(CUDNN_ATTR_CONVOLUTION_CONV_MODE,
                                  CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode));
  AITUNE_RETURN_IF_ERROR(kind.Set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS,
                                  spatial(call.padding_low(), 0)));
  AITUNE_RETURN_IF_ERROR(kind.Set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
                                  spatial(call.padding_high(), 0)));
  AITUNE_RETURN_IF_ERROR(
      kind.Set(CUDNN_ATTR_CONVOLUTION_DILATIONS, spatial(call.dilation(), 1)));
  AITUNE_RETURN_IF_ERROR(
      kind.Set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, stride));
  AITUNE_RETURN_IF_ERROR(kind.Finalize());

  AITUNE_ASSIGN_OR_RETURN(
      CudnnDescriptor operation,
      CudnnDescriptor::Create(
          library_, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR));
  AITUNE_RETURN_IF_ERROR(
      operation.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, kind));
  AITUNE_RETURN_IF_ERROR(
      operation.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, input));
  AITUNE_RETURN_IF_ERROR(
      operation.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, filter));
  AITUNE_RETURN_IF_ERROR(
      operation.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, output));
  // The factors must have the type of the arithmetic: cuDNN would read only
  // half of a double.
  const float one = 1, zero = 0;
  AITUNE_RETURN_IF_ERROR(
      operation.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                    CUDNN_TYPE_FLOAT, 1, &one));
  AITUNE_RETURN_IF_ERROR(
      operation.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
                    CUDNN_TYPE_FLOAT, 1, &zero));
  AITUNE_RETURN_IF_ERROR(operation.Finalize());
  helpers_.push_back(std::make_unique<CudnnDescriptor>(std::move(kind)));
  operations_.push_back(std::move(operation));
  return absl::OkStatus();
}

absl::Status ConvolutionGraph::AddPointwise(const PostOp& op,
                                            const CudnnDescriptor& input,
                                            const CudnnDescriptor* operand,
                                            const CudnnDescriptor& output) {
  AITUNE_ASSIGN_OR_RETURN(
      CudnnDescriptor kind,
      CudnnDescriptor::Create(library_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
  cudnnPointwiseMode_t mode = CUDNN_POINTWISE_ADD;
  switch (op.kind()) {
    case PostOp::BIAS:
    case PostOp::ADD:
      break;
    case PostOp::MULTIPLY:
      mode = CUDNN_POINTWISE_MUL;
      break;
    case PostOp::SILU:
      mode = CUDNN_POINTWISE_SWISH_FWD;
      break;
    case PostOp::SIGMOID:
      mode = CUDNN_POINTWISE_SIGMOID_FWD;
      break;
    case PostOp::TANH:
      mode = CUDNN_POINTWISE_TANH_FWD;
      break;
    case PostOp::GELU_ERF:
      mode = CUDNN_POINTWISE_GELU_FWD;
      break;
    case PostOp::GELU_TANH:
      mode = CUDNN_POINTWISE_GELU_APPROX_TANH_FWD;
      break;
    default:  // RELU, CLAMP, LEAKY_RELU
      mode = CUDNN_POINTWISE_RELU_FWD;
      break;
  }
  AITUNE_RETURN_IF_ERROR(
      kind.Set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode));
  AITUNE_RETURN_IF_ERROR(
      kind.Set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT));
  if (mode == CUDNN_POINTWISE_RELU_FWD) {
    // As in PyTorch: NaN stays NaN.
    const cudnnNanPropagation_t keep = CUDNN_PROPAGATE_NAN;
    AITUNE_RETURN_IF_ERROR(kind.Set(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION,
                                    CUDNN_TYPE_NAN_PROPOGATION, 1, &keep));
  }
  if (op.kind() == PostOp::CLAMP) {
    AITUNE_RETURN_IF_ERROR(kind.Set(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP,
                                    static_cast<double>(op.alpha())));
    AITUNE_RETURN_IF_ERROR(kind.Set(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP,
                                    static_cast<double>(op.beta())));
  }
  if (op.kind() == PostOp::LEAKY_RELU) {
    AITUNE_RETURN_IF_ERROR(kind.Set(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE,
                                    static_cast<double>(op.alpha())));
  }
  AITUNE_RETURN_IF_ERROR(kind.Finalize());
  AITUNE_ASSIGN_OR_RETURN(
      CudnnDescriptor operation,
      CudnnDescriptor::Create(library_,
                              CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
  AITUNE_RETURN_IF_ERROR(
      operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind));
  AITUNE_RETURN_IF_ERROR(
      operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, input));
  if (operand != nullptr) {
    AITUNE_RETURN_IF_ERROR(
        operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *operand));
  }
  AITUNE_RETURN_IF_ERROR(
      operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, output));
  AITUNE_RETURN_IF_ERROR(operation.Finalize());
  helpers_.push_back(std::make_unique<CudnnDescriptor>(std::move(kind)));
  operations_.push_back(std::move(operation));
  return absl::OkStatus();
}

absl::Status ConvolutionGraph::Build(const ConvolutionCall& call,
                                     absl::Span<const Operand> inputs,
                                     const Operand& output) {
  std::vector<const PostOp*> post_ops;
  for (const PostOp& op : call.post_ops()) post_ops.push_back(&op);
  if (std::string reason = RejectConvolutionPostOps(post_ops);
      !reason.empty()) {
    return absl::UnimplementedError(reason);
  }
  const std::vector<int64_t>& filter_sizes = inputs[1].sizes;
  int64_t window = 1;
  for (size_t i = 2; i < filter_sizes.size(); ++i) window *= filter_sizes[i];
  if (window > 1 && filter_sizes[1] > 1 && !inputs[1].channels_last) {
    return absl::UnimplementedError(
        "cuDNN: the filter is no constant, so that it is not channels-last");
  }
  if (inputs[0].dtype != output.dtype || inputs[1].dtype != output.dtype) {
    return absl::UnimplementedError("cuDNN: the operands' dtypes differ");
  }
  for (const Operand& operand : inputs) {
    for (int64_t size : operand.sizes) {
      if (size == 0) return absl::UnimplementedError("cuDNN: an empty tensor");
    }
  }
  AITUNE_ASSIGN_OR_RETURN(const cudnnDataType_t type, TypeOf(output.dtype));
  exact_ = output.dtype == DataType::kFloat32 && !call.allow_tf32();

  auto add_of_type = [&](int64_t id, cudnnDataType_t of,
                         const std::vector<int64_t>& sizes) {
    return AddTensor(id, of, sizes, ChannelsLastStrides(sizes));
  };
  auto add = [&](int64_t id, const std::vector<int64_t>& sizes) {
    return add_of_type(id, id == 0 ? CUDNN_DATA_FLOAT : type, sizes);
  };
  const int64_t output_id = static_cast<int64_t>(inputs.size()) + 1;
  const std::vector<int64_t> output_sizes = ChannelsFirst(output.sizes);
  std::vector<int64_t> filter = filter_sizes;
  if (filter.size() == 3) filter.insert(filter.begin() + 2, 1);
  AITUNE_ASSIGN_OR_RETURN(const CudnnDescriptor* x,
                          add(1, ChannelsFirst(inputs[0].sizes)));
  AITUNE_ASSIGN_OR_RETURN(const CudnnDescriptor* w, add(2, filter));
  AITUNE_ASSIGN_OR_RETURN(const CudnnDescriptor* chain,
                          add(post_ops.empty() ? output_id : 0, output_sizes));
  AITUNE_RETURN_IF_ERROR(AddConvolution(call, *x, *w, *chain));
  for (size_t i = 0; i < post_ops.size(); ++i) {
    const PostOp& op = *post_ops[i];
    const CudnnDescriptor* operand = nullptr;
    if (op.operand() >= 0) {
      std::vector<int64_t> sizes = output_sizes;
      const Operand& given = inputs[op.operand()];
      if (ElementCount(given.sizes) == output_sizes[1]) {
        sizes.assign(output_sizes.size(), 1);
        sizes[1] = output_sizes[1];
      } else if (ElementCount(given.sizes) != ElementCount(output.sizes)) {
        return absl::UnimplementedError("cuDNN: a broadcast of another form");
      }
      AITUNE_ASSIGN_OR_RETURN(const cudnnDataType_t of, TypeOf(given.dtype));
      AITUNE_ASSIGN_OR_RETURN(operand,
                              add_of_type(op.operand() + 1, of, sizes));
    }
    AITUNE_ASSIGN_OR_RETURN(
        const CudnnDescriptor* next,
        add(i + 1 == post_ops.size() ? output_id : 0, output_sizes));
    AITUNE_RETURN_IF_ERROR(AddPointwise(op, *chain, operand, *next));
    chain = next;
  }
  AITUNE_ASSIGN_OR_RETURN(
      graph_, CudnnDescriptor::Create(library_,
                                      CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const CudnnDescriptor& operation : operations_)
    operations.push_back(operation.get());
  return graph_.Set(CUDNN_ATTR_OPERATIONGRAPH_OPS,
                    CUDNN_TYPE_BACKEND_DESCRIPTOR, operations.size(),
                    operations.data());
}

absl::StatusOr<CudnnDescriptor> ConvolutionGraph::MakePlan(
    int algorithm, cudnnHandle_t handle) {
  AITUNE_RETURN_IF_ERROR(graph_.Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE,
                                    CUDNN_TYPE_HANDLE, 1, &handle));
  AITUNE_RETURN_IF_ERROR(graph_.Finalize());
  int position = 0;
  absl::StatusOr<CudnnDescriptor> plan =
      TryHeuristics(CUDNN_HEUR_MODE_A, algorithm, handle, position);
  if (!absl::IsNotFound(plan.status())) return plan;
  return TryHeuristics(CUDNN_HEUR_MODE_FALLBACK, algorithm, handle, position);
}

absl::StatusOr<bool> ConvolutionGraph::Rounds(
    const CudnnDescriptor& configuration) const {
  AITUNE_ASSIGN_OR_RETURN(
      CudnnDescriptor engine,
      CudnnDescriptor::Create(library_, CUDNN_BACKEND_ENGINE_DESCRIPTOR));
  cudnnBackendDescriptor_t handle = engine.get();
  int64_t count = 0;
  AITUNE_RETURN_IF_ERROR(
      library_.Check(library_.cudnnBackendGetAttribute(
                         configuration.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                         CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &handle),
                     "reading an algorithm's engine"));
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  AITUNE_RETURN_IF_ERROR(
      library_.Check(library_.cudnnBackendGetAttribute(
                         engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                         CUDNN_TYPE_NUMERICAL_NOTE,
                         CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes),
                     "reading an algorithm's notes"));
  return std::find(notes, notes + count, CUDNN_NUMERICAL_NOTE_TENSOR_CORE) !=
         notes + count;
}

absl::StatusOr<CudnnDescriptor> ConvolutionGraph::TryHeuristics(
    cudnnBackendHeurMode_t mode, int algorithm, cudnnHandle_t handle,
    int& position) {
  AITUNE_ASSIGN_OR_RETURN(
      CudnnDescriptor heuristics,
      CudnnDescriptor::Create(library_, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
  AITUNE_RETURN_IF_ERROR(
      heuristics.Set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_));
  AITUNE_RETURN_IF_ERROR(heuristics.Set(CUDNN_ATTR_ENGINEHEUR_MODE,
                                        CUDNN_TYPE_HEUR_MODE, 1, &mode));
  AITUNE_RETURN_IF_ERROR(heuristics.Finalize());
  std::vector<CudnnDescriptor> configurations;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (int i = 0; i < 2 * kMostAlgorithms; ++i) {
    AITUNE_ASSIGN_OR_RETURN(
        CudnnDescriptor configuration,
        CudnnDescriptor::Create(library_, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
    handles.push_back(configuration.get());
    configurations.push_back(std::move(configuration));
  }
  int64_t count = 0;
  AITUNE_RETURN_IF_ERROR(library_.Check(
      library_.cudnnBackendGetAttribute(heuristics.get(),
                                        CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                        CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                        handles.size(), &count, handles.data()),
      "choosing an algorithm"));
  for (int64_t i = 0; i < std::min<int64_t>(count, handles.size()); ++i) {
    if (exact_) {
      AITUNE_ASSIGN_OR_RETURN(const bool rounds, Rounds(configurations[i]));
      if (rounds) continue;
    }
    // Positions count what the library lists, built or not, so that asking for
    // one does not build those before it.
    if (position++ != algorithm) continue;
    AITUNE_ASSIGN_OR_RETURN(
        CudnnDescriptor plan,
        CudnnDescriptor::Create(library_,
                                CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
    AITUNE_RETURN_IF_ERROR(plan.Set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE,
                                    CUDNN_TYPE_HANDLE, 1, &handle));
    AITUNE_RETURN_IF_ERROR(
        plan.Set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configurations[i]));
    AITUNE_RETURN_IF_ERROR(library_.Check(
        library_.cudnnBackendFinalize(plan.get()), "building an algorithm"));
    helpers_.push_back(
        std::make_unique<CudnnDescriptor>(std::move(configurations[i])));
    return plan;
  }
  return absl::NotFoundError(absl::StrCat("cuDNN: there are ", position,
                                          " algorithms, not ", algorithm + 1));
}

std::string RejectConvolutionPostOps(absl::Span<const PostOp* const> post_ops) {
  for (const PostOp* op : post_ops) {
    switch (op->kind()) {
      case PostOp::BIAS:
      case PostOp::ADD:
      case PostOp::MULTIPLY:
      case PostOp::RELU:
      case PostOp::SILU:
      case PostOp::SIGMOID:
      case PostOp::TANH:
      case PostOp::GELU_ERF:
      case PostOp::GELU_TANH:
      case PostOp::CLAMP:
      case PostOp::LEAKY_RELU:
        break;
      default:
        return absl::StrCat("cuDNN: no operation ",
                            PostOp::Kind_Name(op->kind()));
    }
  }
  return "";
}

}  // namespace aitune::cuda
