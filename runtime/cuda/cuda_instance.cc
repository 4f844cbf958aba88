#include "runtime/cuda/cuda_instance.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/early_reads.h"
#include "runtime/cuda/full_wait.h"
#include "runtime/cuda/profiler_range.h"
#include "runtime/status/status_macros.h"

namespace aitune::cuda {
namespace {

absl::Status InStep(const LoadedStep& step, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("step '", step.proto->name(),
                                                  "': ", status.message()));
}

bool IsLibraryCall(const Step& step) {
  return step.has_matmul() || step.has_convolution();
}

}  // namespace

CudaInstance::CudaInstance(const Device& device, const LoadedPlan& plan,
                           bool initialization)
    : device_(device),
      plan_(plan),
      initialization_(initialization),
      steps_(initialization ? plan.initialization() : plan.steps()) {}

absl::StatusOr<std::unique_ptr<CudaInstance>> CudaInstance::Create(
    const Device& device, const LoadedPlan& plan, const Kernels& kernels,
    bool initialization, AfterCall next, Algorithms algorithms,
    absl::Span<const int64_t> symbols) {
  std::unique_ptr<CudaInstance> instance(
      new CudaInstance(device, plan, initialization));
  const std::vector<LoadedStep>& steps = instance->steps_;
  instance->symbols_.assign(symbols.begin(), symbols.end());
  // At load there are no sizes yet, but kernels still have parameters for them.
  if (initialization) instance->symbols_.resize(plan.plan().symbols_size());
  AITUNE_ASSIGN_OR_RETURN(
      instance->layout_,
      InstanceLayout::Analyze(plan, steps, symbols, initialization));
  instance->launches_.resize(steps.size());
  for (size_t s = 0; s < steps.size(); ++s) {
    if (!instance->layout_.runs(static_cast<int>(s))) continue;
    const Step& step = *steps[s].proto;
    absl::Status status;
    if (step.has_cuda_kernel()) {
      status = instance->PrepareKernel(static_cast<int>(s), kernels);
    } else if (IsLibraryCall(step)) {
      instance->launches_[s].is_empty =
          ElementCount(instance->layout_.sizes(steps[s].outputs[0])) == 0;
    } else if (!step.has_fallback()) {
      status = absl::InvalidArgumentError("it has no code for a GPU");
    }
    if (!status.ok()) return InStep(steps[s], status);
  }
  instance->FindWaits(next);
  AITUNE_RETURN_IF_ERROR(instance->PrepareLibraryCalls(algorithms));
  std::vector<int64_t> scratch_bytes(steps.size(), 0);
  for (size_t s = 0; s < steps.size(); ++s) {
    if (instance->libraries_[s] != nullptr) {
      scratch_bytes[s] = instance->libraries_[s]->scratch_bytes();
    }
  }
  instance->layout_.Place(scratch_bytes);
  instance->slots_ =
      BufferSlots::Number(plan, instance->steps_, instance->layout_);
  instance->checks_ = KernelChecks(plan, steps);
  instance->CountBytes();
  return instance;
}

absl::Status CudaInstance::PrepareKernel(int step, const Kernels& kernels) {
  const CudaKernelLaunch& proto = steps_[step].proto->cuda_kernel();
  const auto found = kernels.find(proto.symbol());
  if (found == kernels.end()) {
    return absl::NotFoundError(
        absl::StrCat("the machine code has no kernel '", proto.symbol(), "'"));
  }
  Launch& launch = launches_[step];
  launch.function = found->second;
  auto grid = [&](const SizeExpressionProto& size, bool given,
                  char axis) -> absl::StatusOr<unsigned> {
    if (!given) return 1u;
    AITUNE_ASSIGN_OR_RETURN(const SizeExpression expression,
                            FromProto(size, symbols_.size()));
    AITUNE_ASSIGN_OR_RETURN(const int64_t blocks,
                            EvaluateSize(expression, symbols_));
    const int64_t most = axis == 'x' ? 0x7fffffff : 0xffff;
    if (blocks < 0 || blocks > most) {
      return absl::InvalidArgumentError(absl::StrCat(
          "axis ", std::string(1, axis), " of its grid would have ", blocks,
          " blocks for these inputs; ", most, " are possible"));
    }
    return static_cast<unsigned>(blocks);
  };
  CUlaunchConfig& config = launch.config;
  AITUNE_ASSIGN_OR_RETURN(config.gridDimX,
                          grid(proto.grid_x(), proto.has_grid_x(), 'x'));
  AITUNE_ASSIGN_OR_RETURN(config.gridDimY,
                          grid(proto.grid_y(), proto.has_grid_y(), 'y'));
  AITUNE_ASSIGN_OR_RETURN(config.gridDimZ,
                          grid(proto.grid_z(), proto.has_grid_z(), 'z'));
  config.blockDimX = proto.block_x();
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = proto.shared_memory();
  if (proto.programmatic() && device_.arch() >= 90) {
    launch.attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    launch.attribute.value.programmaticStreamSerializationAllowed = 1;
    config.numAttrs = 1;
  }
  AITUNE_ASSIGN_OR_RETURN(const ContextScope scope,
                          ContextScope::Enter(device_));
  // Above the 48 KiB that every kernel may have.
  if (proto.shared_memory() > 48 << 10) {
    AITUNE_RETURN_IF_ERROR(device_.driver().Check(
        device_.driver().cuFuncSetAttribute(
            launch.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            proto.shared_memory()),
        absl::StrCat("asking for ", proto.shared_memory(),
                     " bytes of shared memory a block (",
                     device_.shared_memory_per_block(), " are possible)")));
  }
  launch.first_parameter = parameter_count_;
  parameter_count_ += static_cast<int32_t>(
      steps_[step].inputs.size() + steps_[step].outputs.size() +
      (steps_[step].proto->checks().empty() ? 0 : 1) + symbols_.size() + 1);
  return absl::OkStatus();
}

// A kernel may let the next one start early only if that one waits before it
// touches memory that a call writes, as ours do. cuDNN launches kernels of its
// own in the same way, some of which read operands of fused operations before
// they wait: behind a kernel that had let them start early they read old values
// (cuDNN 9, H200). Where these operands are constants, there are none to read:
// its first operand is only read after the wait, since its own kernels let the
// next one start early, too.
void CudaInstance::FindWaits(AfterCall next) {
  auto waits = [&](size_t step) {
    return launches_[step].function != nullptr
               ? launches_[step].config.numAttrs > 0
               : steps_[step].proto->has_convolution() &&
                     !ReadsWrittenOperand(plan_.plan(), *steps_[step].proto);
  };
  auto runs = [&](size_t step) {
    return layout_.runs(static_cast<int>(step)) && !launches_[step].is_empty &&
           (launches_[step].function == nullptr || launches_[step].HasBlocks());
  };
  int32_t next_waits = 0;
  if (next == AfterCall::kSameCall) {
    for (size_t s = 0; s < steps_.size(); ++s) {
      if (!runs(s)) continue;
      next_waits = waits(s);
      break;
    }
  }
  for (size_t s = steps_.size(); s-- > 0;) {
    if (!runs(s)) continue;
    launches_[s].next_waits = next_waits;
    next_waits = waits(s);
  }
  // Kernels of cuDNN let the next one start before they themselves have waited,
  // so that a chain of them all run at once, and a residual from before the
  // chain may not be there yet when the last reads it, which it does before it
  // waits (cuDNN 9, H200: a network of convolutions was wrong in some of its
  // calls).
  bool after_library = false;
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (!runs(s)) continue;
    const Step& step = *steps_[s].proto;
    launches_[s].ends_before = after_library && step.has_convolution() &&
                               ReadsWrittenOperand(plan_.plan(), step);
    after_library = IsLibraryCall(step);
  }
}

std::string CudaInstance::LibraryCallKey(int step) const {
  const LoadedStep& loaded = steps_[step];
  std::string key = loaded.proto->has_matmul()
                        ? loaded.proto->matmul().SerializeAsString()
                        : loaded.proto->convolution().SerializeAsString();
  auto add = [&](int32_t value) {
    absl::StrAppend(&key, ";",
                    static_cast<int>(plan_.values()[value].type.dtype),
                    SizesToString(layout_.sizes(value)),
                    plan_.plan().values(value).packing().kind());
  };
  for (int32_t value : loaded.inputs) add(value);
  add(loaded.outputs[0]);
  return key;
}

absl::Status CudaInstance::PrepareLibraryCalls(Algorithms algorithms) {
  std::vector<std::string> keys(steps_.size());
  for (int s = 0; s < step_count(); ++s) {
    const Step& step = *steps_[s].proto;
    if (!layout_.runs(s) || launches_[s].is_empty) continue;
    if (IsLibraryCall(step)) keys[s] = LibraryCallKey(s);
    // cuDNN does not promise that it reads a residual before it overwrites it.
    if (step.has_convolution()) layout_.KeepApart(s);
  }
  size_t failed = 0;
  const absl::Status status = PrepareCalls(
      keys, [&](size_t step) { return PrepareLibraryCall(step, algorithms); },
      libraries_, failed);
  return status.ok() ? status : InStep(steps_[failed], status);
}

absl::StatusOr<SharedCall> CudaInstance::PrepareLibraryCall(
    int step, Algorithms algorithms) const {
  const LoadedStep& loaded = steps_[step];
  auto operand = [&](int32_t value) {
    Operand result;
    result.dtype = plan_.values()[value].type.dtype;
    result.sizes = layout_.sizes(value);
    // Filters are packed to panels of one output channel: channels-last.
    result.channels_last = plan_.plan().values(value).packing().kind() ==
                           PackingProto::CONVOLUTION_PANELS;
    return result;
  };
  std::vector<Operand> inputs;
  for (int32_t value : loaded.inputs) inputs.push_back(operand(value));
  const Operand output = operand(loaded.outputs[0]);
  if (loaded.proto->has_matmul()) {
    const MatmulCall& call = loaded.proto->matmul();
    return PrepareAlgorithm(call.algorithm(), algorithms, [&](int algorithm) {
      return PrepareMatmul(device_, call, inputs, output, algorithm);
    });
  }
  const ConvolutionCall& call = loaded.proto->convolution();
  return PrepareAlgorithm(call.algorithm(), algorithms, [&](int algorithm) {
    return PrepareConvolution(device_, call, inputs, output, algorithm);
  });
}

// Computes the bytes of the caller's inputs and outputs, for staging buffers.
void CudaInstance::CountBytes() {
  if (initialization_) return;
  for (const PlanTensorType& type : plan_.input_types()) {
    int64_t bytes = SizeInBytes(type.dtype);
    for (const SizeExpression& size : type.sizes)
      bytes *= size.Evaluate(symbols_);
    input_bytes_.push_back(bytes);
  }
  for (int32_t value : plan_.output_values()) {
    const LoadedValue& loaded = plan_.values()[value];
    output_bytes_.push_back(loaded.storage == ValueProto::OPAQUE
                                ? 0
                                : ElementCount(layout_.sizes(value)) *
                                      SizeInBytes(loaded.type.dtype));
  }
}

void CudaInstance::Patch(Context& context, absl::Span<void* const> inputs,
                         absl::Span<void* const> outputs) const {
  for (const BufferSlots::Patch& slot : slots_.inputs) {
    context.buffers[slot.slot] =
        static_cast<char*>(inputs[slot.index]) + slot.offset;
  }
  for (const BufferSlots::Patch& slot : slots_.outputs) {
    context.buffers[slot.slot] =
        static_cast<char*>(outputs[slot.index]) + slot.offset;
  }
}

absl::Status CudaInstance::EnqueueStep(int step, Context& context,
                                       CUstream stream) const {
  if (!layout_.runs(step) || launches_[step].is_empty) return absl::OkStatus();
  const LoadedStep& loaded = steps_[step];
  const ProfilerRange range(loaded.proto->name().c_str());
  if (const Launch& launch = launches_[step]; launch.function != nullptr) {
    // A grid without blocks has nothing to do, and cannot be launched.
    if (!launch.HasBlocks()) return absl::OkStatus();
    CUlaunchConfig config = launch.config;
    CUlaunchAttribute attribute = launch.attribute;
    config.attrs = &attribute;
    config.hStream = stream;
    const CUresult result = device_.driver().cuLaunchKernelEx(
        &config, launch.function,
        context.parameters.data() + launch.first_parameter, nullptr);
    if (result == CUDA_SUCCESS) return absl::OkStatus();
    return InStep(loaded, device_.driver().Check(result, "launching a kernel"));
  }
  if (libraries_[step] != nullptr) {
    if (launches_[step].ends_before) {
      // Its first byte: the call writes all of it, and KeepApart has it apart
      // from what the call reads.
      const int32_t output =
          slots_.first[step] + static_cast<int32_t>(loaded.inputs.size());
      AITUNE_RETURN_IF_ERROR(
          QueueFullWait(device_, stream, context.buffers[output]));
    }
    absl::Status status = libraries_[step]->Run(
        context.buffers.data() + slots_.first[step],
        context.arena.data() + layout_.scratch_offset(step), stream);
    return status.ok() ? status : InStep(loaded, status);
  }
  return RunRegion(step, context);
}

absl::Status CudaInstance::Enqueue(Context& context, CUstream stream,
                                   int steps) const {
  for (int s = 0; s < steps; ++s) {
    AITUNE_RETURN_IF_ERROR(EnqueueStep(s, context, stream));
    for (int32_t value : layout_.last_uses(s)) context.opaques[value].reset();
  }
  return absl::OkStatus();
}

absl::Status CudaInstance::CopyValue(const Context& context,
                                     absl::Span<void* const> outputs,
                                     const ValueCopy& copy) const {
  const Placement place = layout_.placement(copy.value);
  const void* from = nullptr;
  if (place.kind == Placement::Kind::kArena)
    from = context.arena.data() + place.offset;
  if (place.kind == Placement::Kind::kOutput)
    from = static_cast<const char*>(outputs[place.index]) + place.offset;
  for (const BufferSlots::Patch& slot : slots_.lent) {
    if (slot.index == plan_.values()[copy.value].root)
      from = static_cast<const char*>(context.buffers[slot.slot]) -
             slot.offset + place.offset;
  }
  if (from == nullptr)
    return absl::InvalidArgumentError(absl::StrCat(
        "value ", copy.value, " can't be copied: no step writes it"));
  return device_.driver().Check(
      device_.driver().cuMemcpyDtoH(
          copy.to.data, reinterpret_cast<CUdeviceptr>(from), BytesOf(copy.to)),
      "copying a value");
}

void CudaInstance::PatchLent(int32_t value, void* data,
                             Context& context) const {
  for (const BufferSlots::Patch& slot : slots_.lent) {
    if (slot.index == value)
      context.buffers[slot.slot] = static_cast<char*>(data) + slot.offset;
  }
}

absl::Status CudaInstance::RunRegion(int step, Context& context) const {
  const LoadedStep& loaded = steps_[step];
  void* const* buffer = context.buffers.data() + slots_.first[step];
  std::vector<RegionValue> inputs, outputs;
  auto add = [&](int32_t value, std::vector<RegionValue>& values,
                 bool is_input) {
    const LoadedValue& described = plan_.values()[value];
    if (described.storage == ValueProto::OPAQUE) {
      values.push_back(is_input ? context.opaques[value] : OpaqueValue());
    } else {
      const bool is_asked = !is_input && plan_.is_lent(value);
      values.push_back(TensorView{is_asked ? nullptr : *buffer,
                                  described.type.dtype, layout_.sizes(value)});
    }
    ++buffer;
  };
  for (int32_t value : loaded.inputs) add(value, inputs, true);
  for (int32_t value : loaded.outputs) add(value, outputs, false);
  AITUNE_RETURN_IF_ERROR(
      loaded.region->Run(inputs, symbols_, absl::MakeSpan(outputs)));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int32_t value = loaded.outputs[i];
    if (plan_.is_lent(value))
      PatchLent(value, std::get<TensorView>(outputs[i]).data, context);
    if (plan_.values()[value].storage != ValueProto::OPAQUE) continue;
    OpaqueValue* opaque = std::get_if<OpaqueValue>(&outputs[i]);
    if (opaque == nullptr) {
      return InStep(loaded,
                    absl::InternalError(absl::StrCat(
                        "the fallback region gave a tensor as output ", i)));
    }
    context.opaques[value] = std::move(*opaque);
  }
  return absl::OkStatus();
}

void CudaInstance::TakeOpaqueOutputs(Context& context,
                                     absl::Span<RegionValue> outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (auto* opaque = std::get_if<OpaqueValue>(&outputs[i])) {
      *opaque = context.opaques[plan_.output_values()[i]];
    }
  }
  for (OpaqueValue& value : context.opaques) value.reset();
}

absl::Status CudaInstance::Copies(Context& context,
                                  absl::Span<void* const> outputs,
                                  CUstream stream) const {
  for (size_t c = 0; c < layout_.copies().size(); ++c) {
    const OutputCopy& copy = layout_.copies()[c];
    AITUNE_RETURN_IF_ERROR(device_.driver().Check(
        device_.driver().cuMemcpyDtoDAsync(
            reinterpret_cast<CUdeviceptr>(outputs[copy.output]),
            reinterpret_cast<CUdeviceptr>(
                context.buffers[slots_.first.back() + c]),
            copy.bytes, stream),
        "copying an output"));
  }
  return absl::OkStatus();
}

}  // namespace aitune::cuda
