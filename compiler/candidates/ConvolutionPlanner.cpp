#include "compiler/candidates/ConvolutionPlanner.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "runtime/cuda/convolution_plan.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

/// A process that makes plans has a context of the GPU, which takes half a
/// gigabyte of its memory on an H200. All together take a quarter of what is
/// free.
constexpr int64_t kContextBytes = int64_t{512} << 20;
constexpr int64_t kPartsOfMemory = 4;

/// Sets `operand` to a value of a plan at these values of its symbols.
bool describe(const ValueProto &value, absl::Span<const int64_t> symbols,
              WorkerOperand &operand) {
  const absl::StatusOr<PlanTensorType> type =
      FromProto(value.type(), static_cast<int>(symbols.size()));
  if (!type.ok())
    return false;
  const absl::StatusOr<std::vector<int64_t>> sizes =
      EvaluateSizes(type->sizes, symbols);
  if (!sizes.ok() || ElementCount(*sizes) == 0)
    return false;
  operand.set_dtype(value.type().dtype());
  operand.mutable_sizes()->Assign(sizes->begin(), sizes->end());
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

ConvolutionPlanner::ConvolutionPlanner(const cuda::Device &device,
                                       const GenerationOptions &options)
    : device(device), options(withoutMemoryLimit(options)),
      count(static_cast<int>(std::clamp<int64_t>(
          device.FreeBytes() / (kPartsOfMemory * kContextBytes), 1,
          kMostPlanning))),
      opening(count) {}

void ConvolutionPlanner::open() {
  if (options.worker.empty())
    return;
  std::call_once(opened, [this] {
    for (int i = 0; i < count; ++i)
      opening.add([this, processes = processes()] {
        WorkerRequest request;
        request.mutable_open_gpu()->set_gpu(device.ordinal());
        // What fails fails again, with a reason, when a plan is made.
        processes->call(std::move(request), options).IgnoreError();
      });
  });
}

absl::Status ConvolutionPlanner::planStep(const ExecutablePlan &plan,
                                          absl::Span<const int64_t> symbols,
                                          Step &step) {
  WorkerRequest request;
  WorkerConvolution &wanted = *request.mutable_convolution();
  for (int value : step.inputs())
    if (!describe(plan.values(value), symbols, *wanted.add_inputs()))
      return absl::OkStatus();
  if (!describe(plan.values(step.outputs(0)), symbols,
                *wanted.mutable_output()))
    return absl::OkStatus();
  wanted.set_gpu(device.ordinal());
  *wanted.mutable_call() = step.convolution();
  wanted.mutable_call()->clear_execution_plans();
  ExecutionPlanProto planned;
  *planned.mutable_input_sizes() = wanted.inputs(0).sizes();
  absl::StatusOr<WorkerReply> reply =
      processes()->call(std::move(request), options);
  if (absl::IsNotFound(reply.status()))
    return reply.status();
  if (reply.ok()) {
    planned.set_text(std::move(*reply->mutable_execution_plan()));
    *step.mutable_convolution()->add_execution_plans() = std::move(planned);
  }
  return absl::OkStatus();
}

absl::Status ConvolutionPlanner::planAll(ExecutablePlan &plan) {
  if (options.worker.empty())
    return absl::OkStatus();
  std::vector<int64_t> least, most;
  for (const SymbolProto &symbol : plan.symbols()) {
    least.push_back(symbol.min());
    most.push_back(symbol.max());
  }
  for (Step &step : *plan.mutable_steps()) {
    if (!step.has_convolution() ||
        !step.convolution().execution_plans().empty())
      continue;
    AITUNE_RETURN_IF_ERROR(planStep(plan, most, step));
    // The list may be shorter for the smallest.
    if (least != most)
      planStep(plan, least, step).IgnoreError();
  }
  return absl::OkStatus();
}

absl::Status openForConvolutions(const WorkerOpenGpu &request) {
  AITUNE_ASSIGN_OR_RETURN(const cuda::Device *device,
                          cuda::Device::Open(request.gpu()));
  cuda::LoadConvolutionLibrary(*device);
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
