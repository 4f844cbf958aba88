#include "compiler/candidates/ConvolutionPlanner.h"

#include <optional>
#include <vector>

#include "runtime/cuda/convolution_plan.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

/// The most processes that make plans at a time. Each has a context of the GPU,
/// which takes half a gigabyte of its memory on an H200.
constexpr int kMostAsked = 8;

/// Sets `operand` to a value of `plan`, if its sizes are constant.
bool describe(const ValueProto &value, WorkerOperand &operand) {
  const absl::StatusOr<PlanTensorType> type =
      FromProto(value.type(), /*symbol_count=*/0);
  if (!type.ok())
    return false;
  operand.set_dtype(value.type().dtype());
  for (const SizeExpression &size : type->sizes)
    operand.add_sizes(*size.constant());
  operand.set_channels_last(value.packing().kind() ==
                            PackingProto::CONVOLUTION_PANELS);
  return true;
}

cuda::Operand toOperand(const WorkerOperand &message) {
  cuda::Operand operand;
  operand.dtype = static_cast<DataType>(message.dtype());
  operand.sizes.assign(message.sizes().begin(), message.sizes().end());
  operand.channels_last = message.channels_last();
  return operand;
}

} // namespace

absl::Status ConvolutionPlanner::planStep(const ExecutablePlan &plan,
                                          Step &step) {
  WorkerRequest request;
  WorkerConvolution &wanted = *request.mutable_convolution();
  for (int value : step.inputs())
    if (!describe(plan.values(value), *wanted.add_inputs()))
      return absl::OkStatus();
  if (!describe(plan.values(step.outputs(0)), *wanted.mutable_output()))
    return absl::OkStatus();
  wanted.set_gpu(device.ordinal());
  *wanted.mutable_call() = step.convolution();
  {
    std::unique_lock<std::mutex> lock(mutex);
    answered.wait(lock, [this] { return asked < kMostAsked; });
    ++asked;
  }
  absl::StatusOr<WorkerReply> reply =
      processes->call(std::move(request), options);
  {
    std::lock_guard<std::mutex> lock(mutex);
    --asked;
  }
  answered.notify_one();
  if (absl::IsNotFound(reply.status()))
    return reply.status();
  if (reply.ok())
    step.mutable_convolution()->set_execution_plan(
        std::move(*reply->mutable_execution_plan()));
  return absl::OkStatus();
}

absl::Status ConvolutionPlanner::planAll(ExecutablePlan &plan) {
  if (!processes)
    return absl::OkStatus();
  for (Step &step : *plan.mutable_steps())
    if (step.has_convolution() && step.convolution().execution_plan().empty())
      AITUNE_RETURN_IF_ERROR(planStep(plan, step));
  return absl::OkStatus();
}

absl::StatusOr<std::string> planConvolution(const WorkerConvolution &request) {
  std::vector<cuda::Operand> inputs;
  for (const WorkerOperand &input : request.inputs())
    inputs.push_back(toOperand(input));
  AITUNE_ASSIGN_OR_RETURN(const cuda::Device *device,
                          cuda::Device::Open(request.gpu()));
  return cuda::PlanConvolution(*device, request.call(), inputs,
                               toOperand(request.output()));
}

} // namespace aitune
