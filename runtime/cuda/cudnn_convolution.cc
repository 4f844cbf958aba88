// Convolutions as library calls: a plan of cuDNN's, made here or taken from the
// text of one.

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/cuda/convolution_plan.h"
#include "runtime/cuda/cudnn_api.h"
#include "runtime/cuda/cudnn_graph.h"
#include "runtime/cuda/library_call.h"
#include "runtime/status/status_macros.h"

namespace aitune::cuda {
namespace {

class Convolution : public LibraryCall {
 public:
  Convolution(const Cudnn& library, const Device& device)
      : library_(library), device_(device), graph_(library) {}

  absl::Status Prepare(const ConvolutionCall& call,
                       absl::Span<const Operand> inputs, const Operand& output,
                       int algorithm);

  int64_t scratch_bytes() const override { return scratch_bytes_; }

  absl::Status Run(void* const* buffers, void* scratch,
                   CUstream stream) const override {
    AITUNE_ASSIGN_OR_RETURN(const CudnnHandle owned,
                            CudnnHandle::Take(library_, device_));
    const cudnnHandle_t handle = owned.get();
    AITUNE_RETURN_IF_ERROR(library_.Check(
        library_.cudnnSetStream(handle, reinterpret_cast<cudaStream_t>(stream)),
        "setting the stream"));
    AITUNE_ASSIGN_OR_RETURN(
        CudnnDescriptor pack,
        CudnnDescriptor::Create(library_,
                                CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
    std::vector<void*> pointers;
    for (int64_t id : ids_) pointers.push_back(buffers[id - 1]);
    AITUNE_RETURN_IF_ERROR(pack.Set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids_));
    AITUNE_RETURN_IF_ERROR(pack.Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                                    CUDNN_TYPE_VOID_PTR, pointers.size(),
                                    pointers.data()));
    AITUNE_RETURN_IF_ERROR(pack.Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
                                    CUDNN_TYPE_VOID_PTR, 1, &scratch));
    AITUNE_RETURN_IF_ERROR(pack.Finalize());
    return library_.Check(
        library_.cudnnBackendExecute(handle, plan_.get(), pack.get()),
        "running a convolution");
  }

 private:
  // The plan of a text that cuDNN wrote.
  absl::Status Read(const std::string& text, cudnnHandle_t handle);

  const Cudnn& library_;
  const Device& device_;
  // What the plan is of; empty if it was read.
  ConvolutionGraph graph_;
  // Numbers of the plan's tensors, ConvolutionGraph's.
  std::vector<int64_t> ids_;
  CudnnDescriptor plan_;
  int64_t scratch_bytes_ = 0;
};

absl::Status Convolution::Read(const std::string& text, cudnnHandle_t handle) {
  AITUNE_ASSIGN_OR_RETURN(
      CudnnDescriptor plan,
      CudnnDescriptor::Create(library_,
                              CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
  AITUNE_RETURN_IF_ERROR(plan.Set(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                  CUDNN_TYPE_CHAR, text.size(), text.data()));
  AITUNE_RETURN_IF_ERROR(plan.Set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE,
                                  CUDNN_TYPE_HANDLE, 1, &handle));
  AITUNE_RETURN_IF_ERROR(plan.Finalize());
  plan_ = std::move(plan);
  return absl::OkStatus();
}

absl::Status Convolution::Prepare(const ConvolutionCall& call,
                                  absl::Span<const Operand> inputs,
                                  const Operand& output, int algorithm) {
  AITUNE_ASSIGN_OR_RETURN(const CudnnHandle owned,
                          CudnnHandle::Take(library_, device_));
  ids_ = {1, 2};
  for (const PostOp& op : call.post_ops())
    if (op.operand() >= 0) ids_.push_back(op.operand() + 1);
  ids_.push_back(static_cast<int64_t>(inputs.size()) + 1);
  // A text of another GPU or version of cuDNN is none.
  const auto planned = std::find_if(
      call.execution_plans().begin(), call.execution_plans().end(),
      [&](const ExecutionPlanProto& plan) {
        return std::equal(plan.input_sizes().begin(), plan.input_sizes().end(),
                          inputs[0].sizes.begin(), inputs[0].sizes.end());
      });
  if (planned == call.execution_plans().end() ||
      !Read(planned->text(), owned.get()).ok()) {
    AITUNE_RETURN_IF_ERROR(graph_.Build(call, inputs, output));
    AITUNE_ASSIGN_OR_RETURN(plan_, graph_.MakePlan(algorithm, owned.get()));
  }
  int64_t read = 0;
  return library_.Check(
      library_.cudnnBackendGetAttribute(
          plan_.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
          CUDNN_TYPE_INT64, 1, &read, &scratch_bytes_),
      "reading an algorithm's memory");
}

// All characters of an attribute that is a text.
absl::StatusOr<std::string> ReadText(const Cudnn& library,
                                     const CudnnDescriptor& descriptor,
                                     cudnnBackendAttributeName_t name) {
  int64_t size = 0;
  AITUNE_RETURN_IF_ERROR(library.Check(
      library.cudnnBackendGetAttribute(descriptor.get(), name, CUDNN_TYPE_CHAR,
                                       0, &size, nullptr),
      "writing a plan as text"));
  std::string text(size, '\0');
  AITUNE_RETURN_IF_ERROR(library.Check(
      library.cudnnBackendGetAttribute(descriptor.get(), name, CUDNN_TYPE_CHAR,
                                       size, &size, text.data()),
      "writing a plan as text"));
  text.resize(size);
  return text;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LibraryCall>> PrepareConvolution(
    const Device& device, const ConvolutionCall& call,
    absl::Span<const Operand> inputs, const Operand& output, int algorithm) {
  AITUNE_ASSIGN_OR_RETURN(const Cudnn* library, GetCudnn());
  AITUNE_ASSIGN_OR_RETURN(const ContextScope scope,
                          ContextScope::Enter(device));
  auto convolution = std::make_unique<Convolution>(*library, device);
  AITUNE_RETURN_IF_ERROR(convolution->Prepare(call, inputs, output, algorithm));
  return std::unique_ptr<LibraryCall>(std::move(convolution));
}

void LoadConvolutionLibrary(const Device& device) {
  if (const absl::StatusOr<const Cudnn*> library = GetCudnn(); library.ok())
    CudnnHandle::Take(**library, device).IgnoreError();
}

absl::StatusOr<std::string> PlanConvolution(const Device& device,
                                            const ConvolutionCall& call,
                                            absl::Span<const Operand> inputs,
                                            const Operand& output) {
  AITUNE_ASSIGN_OR_RETURN(const Cudnn* library, GetCudnn());
  AITUNE_ASSIGN_OR_RETURN(const ContextScope scope,
                          ContextScope::Enter(device));
  AITUNE_ASSIGN_OR_RETURN(const CudnnHandle owned,
                          CudnnHandle::Take(*library, device));
  ConvolutionGraph graph(*library);
  AITUNE_RETURN_IF_ERROR(graph.Build(call, inputs, output));
  AITUNE_ASSIGN_OR_RETURN(const CudnnDescriptor plan,
                          graph.MakePlan(call.algorithm(), owned.get()));
  return ReadText(*library, plan,
                  CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
}

}  // namespace aitune::cuda
