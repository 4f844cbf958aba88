#include "frontend/session/compiled_model.h"

#include <ATen/core/ivalue.h>
#include <malloc.h>

#include <chrono>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/session/gpu.h"
#include "frontend/torchscript/structure.h"

namespace aitune::frontend {
namespace {

// Seconds since construction.
class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

absl::StatusOr<Trace> MakeTrace(const Model& model, const ModelInputs& inputs,
                                const BuildOptions& options) {
  TraceOptions trace_options = options.trace;
  if (!trace_options.progress && options.compile.progress) {
    trace_options.progress = [&options](int done, int total) {
      options.compile.progress("trace", done, total);
    };
  }
  bool dynamic = inputs.samples == std::nullopt;
  if (!dynamic && !inputs.specs.empty()) {
    absl::StatusOr<SymbolAssignment> symbols = AssignSymbols(inputs.specs);
    if (!symbols.ok()) return symbols.status();
    dynamic = !symbols->symbols.empty();
  }
  return dynamic ? BuildTrace(model, inputs.specs, trace_options)
                 : BuildTrace(model, *inputs.samples, trace_options);
}

bool IsOpaque(const ExecutablePlan& plan, int output) {
  if (output >= plan.output_values_size()) return false;
  return plan.values(plan.output_values(output)).storage() ==
         ValueProto::OPAQUE;
}

template <typename AnyExecutable>
absl::StatusOr<OutputBuffers> Allocate(const AnyExecutable& executable,
                                       absl::Span<const TensorView> inputs,
                                       int gpu) {
  absl::StatusOr<std::vector<std::vector<int64_t>>> sizes =
      executable.OutputSizes(inputs);
  if (!sizes.ok()) return sizes.status();
  const ExecutablePlan& plan = executable.plan();
  std::vector<DataType> dtypes;
  std::vector<bool> opaque;
  for (int i = 0; i < plan.outputs_size(); ++i) {
    dtypes.push_back(static_cast<DataType>(plan.outputs(i).dtype()));
    opaque.push_back(IsOpaque(plan, i));
  }
  return AllocateOutputs(dtypes, *sizes, opaque, gpu);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CompiledModel>> CompiledModel::Build(
    const Model& model, const ModelInputs& inputs,
    const BuildOptions& options) {
  std::unique_ptr<CompiledModel> built(new CompiledModel());
  const Stopwatch trace_time;
  absl::StatusOr<Trace> trace = MakeTrace(model, inputs, options);
  if (!trace.ok()) return trace.status();
  built->trace_ = *std::move(trace);
  // What tracing freed would otherwise stay beside the compiler's memory.
  malloc_trim(0);
  built->phase_seconds_.push_back({"trace", trace_time.Seconds()});

  absl::StatusOr<CompiledTrace> compiled =
      CompileTrace(built->trace_, options.compile);
  if (!compiled.ok()) return compiled.status();
  built->compiled_ = *std::move(compiled);
  CompileResult& result = built->compiled_.result;
  built->phase_seconds_.insert(built->phase_seconds_.end(),
                               result.phaseSeconds.begin(),
                               result.phaseSeconds.end());

  if (options.compile.progress) options.compile.progress("load", 0, 0);
  const Stopwatch load_time;
  if (result.plan.device() == "cuda") {
    absl::StatusOr<int> gpu = cudaOrdinal(options.compile.device);
    if (!gpu.ok()) return gpu.status();
    built->gpu_ = *gpu;
  }
  *built->trace_.fallback_gpu = built->gpu_;
  std::vector<std::unique_ptr<FallbackRegion>> regions;
  for (const RegionDefinition& region : built->compiled_.regions) {
    regions.push_back(built->trace_.make_fallback_region(
        region.ops, region.inputs, region.outputs));
  }
  // From here on only what runs holds constants: packing then frees them.
  built->trace_.make_fallback_region = nullptr;
  std::vector<ConstantTensor> constants = std::move(built->trace_.constants);
  built->trace_.constants.clear();
  std::move(result.newConstants.begin(), result.newConstants.end(),
            std::back_inserter(constants));
  result.newConstants.clear();
  malloc_trim(0);
  absl::Status loaded = built->Load(std::move(constants), std::move(regions));
  if (!loaded.ok()) return loaded;
  built->phase_seconds_.push_back({"load", load_time.Seconds()});
  return built;
}

absl::Status CompiledModel::Load(
    std::vector<ConstantTensor> constants,
    std::vector<std::unique_ptr<FallbackRegion>> regions) {
  const CompileResult& result = compiled_.result;
  if (gpu_ < 0) {
    auto executable =
        Executable::Load(result.plan, compiled_.kernels, std::move(constants),
                         std::move(regions));
    if (!executable.ok()) return executable.status();
    executable_ = *std::move(executable);
    return absl::OkStatus();
  }
  absl::StatusOr<const cuda::Device*> device = cuda::Device::Open(gpu_);
  if (!device.ok()) return device.status();
  std::vector<std::string> cubins;
  for (const KernelObject& object : result.objects) {
    cubins.push_back(object.object);
  }
  auto executable =
      cuda::CudaExecutable::Load(**device, result.plan, cubins,
                                 std::move(constants), std::move(regions), {});
  if (!executable.ok()) return executable.status();
  cuda_executable_ = *std::move(executable);
  return absl::OkStatus();
}

absl::StatusOr<c10::IValue> CompiledModel::Run(
    const ValueList& arguments) const {
  absl::StatusOr<FlatTensors> inputs =
      FlattenInputs(trace_.input_structure, arguments, gpu_);
  if (!inputs.ok()) return inputs.status();
  absl::StatusOr<OutputBuffers> outputs =
      cuda_executable_ ? Allocate(*cuda_executable_, inputs->views, gpu_)
                       : Allocate(*executable_, inputs->views, gpu_);
  if (!outputs.ok()) return outputs.status();
  absl::Status status =
      cuda_executable_
          ? cuda_executable_->Run(inputs->views,
                                  absl::MakeSpan(outputs->values),
                                  static_cast<CUstream>(CurrentStream(gpu_)))
          : executable_->Run(inputs->views, absl::MakeSpan(outputs->values));
  if (!status.ok()) return status;
  return UnflattenOutputs(trace_.output_structure, *outputs);
}

absl::StatusOr<std::vector<StepProfile>> CompiledModel::Profile(
    const ValueList& arguments, int repeats) const {
  absl::StatusOr<FlatTensors> inputs =
      FlattenInputs(trace_.input_structure, arguments, gpu_);
  if (!inputs.ok()) return inputs.status();
  absl::StatusOr<OutputBuffers> outputs =
      cuda_executable_ ? Allocate(*cuda_executable_, inputs->views, gpu_)
                       : Allocate(*executable_, inputs->views, gpu_);
  if (!outputs.ok()) return outputs.status();
  if (cuda_executable_) {
    return cuda_executable_->Profile(inputs->views,
                                     absl::MakeSpan(outputs->values), repeats);
  }
  return executable_->Profile(inputs->views, absl::MakeSpan(outputs->values),
                              repeats);
}

absl::StatusOr<std::vector<int64_t>> CompiledModel::SymbolValues(
    const ValueList& arguments) const {
  absl::StatusOr<FlatTensors> inputs =
      FlattenInputs(trace_.input_structure, arguments, gpu_);
  if (!inputs.ok()) return inputs.status();
  std::vector<int64_t> values;
  for (const TraceSymbol& symbol : trace_.symbols) {
    values.push_back(inputs->views[symbol.input].sizes[symbol.axis]);
  }
  return values;
}

absl::StatusOr<std::string> CompileToIr(const Model& model,
                                        const ModelInputs& inputs,
                                        const BuildOptions& options) {
  absl::StatusOr<Trace> trace = MakeTrace(model, inputs, options);
  if (!trace.ok()) return trace.status();
  absl::StatusOr<CompiledTrace> compiled =
      CompileTrace(*trace, options.compile);
  if (!compiled.ok()) return compiled.status();
  return std::move(compiled->result.ir);
}

}  // namespace aitune::frontend
