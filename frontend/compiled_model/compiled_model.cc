#include "frontend/compiled_model/compiled_model.h"

#include <ATen/core/ivalue.h>
#include <malloc.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/compiled_model/memory_range.h"
#include "frontend/compiled_model/model_versions.h"
#include "frontend/compiled_model/outlined_versions.h"
#include "frontend/torchscript/dict_order.h"
#include "frontend/torchscript/gpu_state.h"
#include "frontend/trace/input_nesting.h"
#include "frontend/trace/output_buffers.h"
#include "frontend/trace/print_trace.h"
#include "frontend/trace/structure.h"
#include "frontend/values/gpu.h"
#include "frontend/values/gpu_region_recorder.h"
#include "frontend/values/pytree.h"
#include "frontend/values/torch_util.h"
#include "runtime/cpu/kernel_loader.h"
#include "runtime/cuda/cuda_executable.h"
#include "runtime/executable/cpu_executable.h"
#include "runtime/executable/result_pool.h"
#include "runtime/hash/sha256.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

bool IsOpaque(const ExecutablePlan& plan, int output) {
  if (output >= plan.output_values_size()) return false;
  return plan.values(plan.output_values(output)).storage() ==
         ValueProto::OPAQUE;
}

absl::StatusOr<OutputBuffers> Allocate(const Executable& executable,
                                       absl::Span<const TensorView> inputs,
                                       const Device& device) {
  AITUNE_ASSIGN_OR_RETURN(std::vector<std::vector<int64_t>> sizes,
                          executable.OutputSizes(inputs));
  const ExecutablePlan& plan = executable.plan();
  std::vector<DataType> dtypes;
  std::vector<bool> opaque;
  std::vector<int64_t> bytes;
  for (int i = 0; i < plan.outputs_size(); ++i) {
    dtypes.push_back(static_cast<DataType>(plan.outputs(i).dtype()));
    opaque.push_back(IsOpaque(plan, i) || executable.GivesOutput(i));
    bytes.push_back(
        opaque[i] ? 0 : ElementCount(sizes[i]) * SizeInBytes(dtypes[i]));
  }
  std::vector<std::shared_ptr<char>> memory;
  if (ResultPool* pool = executable.result_pool(); pool != nullptr) {
    AITUNE_ASSIGN_OR_RETURN(memory, pool->Acquire(bytes));
  }
  return AllocateOutputs(dtypes, sizes, opaque, device, memory);
}

// Whether regions that were stored name operators and values that the trace
// has.
absl::Status CheckRegions(absl::Span<const RegionDefinition> regions,
                          const Trace& trace) {
  const auto check = [](absl::Span<const int32_t> indices, size_t count,
                        const char* what) -> absl::Status {
    for (const int32_t index : indices) {
      if (index >= 0 && static_cast<size_t>(index) < count) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the stored model is damaged: LibTorch is to run ", what,
                       " ", index, " of a trace of ", count));
    }
    return absl::OkStatus();
  };
  for (const RegionDefinition& region : regions) {
    AITUNE_RETURN_IF_ERROR(check(region.ops, trace.ops.size(), "operator"));
    AITUNE_RETURN_IF_ERROR(check(region.inputs, trace.values.size(), "value"));
    AITUNE_RETURN_IF_ERROR(check(region.outputs, trace.values.size(), "value"));
  }
  return absl::OkStatus();
}

// Whether calls read or write the model's own tensors in place.
bool ReadsState(const Trace& trace) {
  return std::any_of(trace.ops.begin(), trace.ops.end(),
                     [](const TraceOp& op) { return op.name == kState; });
}

}  // namespace

absl::StatusOr<Trace> MakeTrace(const Model& model, const ModelInputs& inputs,
                                const TraceOptions& options) {
  bool dynamic = inputs.samples == std::nullopt;
  if (!dynamic && !inputs.specs.empty()) {
    AITUNE_ASSIGN_OR_RETURN(SymbolAssignment symbols,
                            AssignSymbols(inputs.specs));
    dynamic = !symbols.symbols.empty();
  }
  if (inputs.samples) {
    AITUNE_RETURN_IF_ERROR(
        CheckQueries(FindInputQueries(model), *inputs.samples));
  }
  return dynamic ? BuildTrace(model, inputs.specs, options)
                 : BuildTrace(model, *inputs.samples, options);
}

absl::StatusOr<Trace> TraceAgain(const Model& model,
                                 const CompiledParts& parts) {
  ModelInputs inputs;
  for (const std::string& text : parts.input_specs) {
    AITUNE_ASSIGN_OR_RETURN(InputSpec spec, ParseInputSpec(text));
    inputs.specs.push_back(std::move(spec));
  }
  if (inputs.specs.empty() && !model.parameters().empty())
    return absl::FailedPreconditionError(
        "the stored model's inputs can't be described well enough to trace it "
        "again");
  TraceOptions options;
  options.anchor = parts.trace_anchor;
  options.rolled_loops = parts.rolled_loops;
  options.outlines = !parts.outlined.empty();
  options.sees_parts = false;
  options.for_gpu = parts.plan.device() == "cuda";
  return MakeTrace(model, inputs, options);
}

std::string TraceSha256(const Trace& trace) {
  return Sha256Hex(PrintTrace(trace));
}

absl::StatusOr<std::unique_ptr<CompiledModel>> CompiledModel::FromParts(
    const Model& model, CompiledParts parts, const Trace* trace,
    const Device& device, bool cuda_graphs) {
  std::unique_ptr<CompiledModel> loaded(new CompiledModel());
  if (parts.plan.device() == "cuda")
    loaded->device_ = Device::Gpu(std::max(device.gpu(), 0));
  std::vector<std::unique_ptr<FallbackRegion>> regions;
  std::shared_ptr<GpuState> state;  // where the regions share it
  if (!parts.regions.empty()) {
    Trace again;
    const bool is_again = trace == nullptr;
    if (is_again) {
      // Of weights that are not made yet regions mostly need none, unless
      // LibTorch runs all.
      std::optional<Model> made;
      if (model.UnmadeBytes() > 0 && !parts.report.LibTorchRunsAll()) {
        AITUNE_ASSIGN_OR_RETURN(made, model.WithOwnWeights());
      }
      absl::StatusOr<Trace> traced = TraceAgain(made ? *made : model, parts);
      if (!traced.ok())
        return absl::FailedPreconditionError(
            absl::StrCat("the model can't be traced again as for the stored "
                         "model: ",
                         std::string(traced.status().message())));
      again = *std::move(traced);
      if (TraceSha256(again) != parts.trace_sha256)
        return absl::FailedPreconditionError(
            "the model's trace differs from the one that the stored model was "
            "made from, as where sizes depend on the inputs' elements; compile "
            "the model again");
      trace = &again;
    }
    AITUNE_RETURN_IF_ERROR(CheckRegions(parts.regions, *trace));
    if (loaded->device_.is_gpu() && ReadsState(*trace)) {
      AITUNE_ASSIGN_OR_RETURN(state, GpuState::Of(model, loaded->device_));
    }
    loaded->written_inputs_ = trace->written_inputs;
    AITUNE_ASSIGN_OR_RETURN(loaded->outlined_,
                            LoadOutlined(trace->outlined, parts.outlined,
                                         loaded->device_, cuda_graphs));
    loaded->outlined_programs_.assign(trace->outlined.begin(),
                                      trace->outlined.end());
    *trace->region_place = {loaded->device_, /*is_trial=*/false, state};
    for (const RegionDefinition& region : parts.regions)
      regions.push_back(trace->make_fallback_region(region.ops, region.inputs,
                                                    region.outputs));
    if (is_again) {
      std::vector<int> ops;
      for (const RegionDefinition& region : parts.regions)
        ops.insert(ops.end(), region.ops.begin(), region.ops.end());
      again.keep_only(ops);
      again.constants.clear();
      malloc_trim(0);
    }
  }
  if (!loaded->device_.is_gpu()) {
    AITUNE_ASSIGN_OR_RETURN(std::shared_ptr<const KernelLibrary> kernels,
                            LoadKernels(parts.objects, model.class_name()));
    AITUNE_ASSIGN_OR_RETURN(
        loaded->executable_,
        CpuExecutable::Load(std::move(parts.plan), std::move(kernels),
                            std::move(parts.constants), std::move(regions)));
  } else {
    AITUNE_ASSIGN_OR_RETURN(const cuda::Device* gpu,
                            cuda::Device::Open(loaded->device_.gpu()));
    cuda::CudaExecutable::Options options;
    options.graphs = cuda_graphs;
    options.gate = state;
    // Without one the regions run beside graphs, which GraphReason tells. A
    // graph would keep addresses of what the programs in a region free.
    if (cuda_graphs && !regions.empty() && loaded->outlined_.empty()) {
      auto recorder = LibTorchRegionRecorder(loaded->device_);
      if (recorder.ok()) options.recorder = *std::move(recorder);
    }
    // What regions keep there was copied on LibTorch's stream; calls are on
    // others.
    const auto wait = [&] {
      if (!regions.empty()) WaitForStream(loaded->device_);
      return absl::OkStatus();
    };
    AITUNE_RETURN_IF_ERROR(CatchExceptions(absl::StatusCode::kInternal,
                                           "loading the model", wait));
    AITUNE_ASSIGN_OR_RETURN(
        loaded->executable_,
        cuda::CudaExecutable::Load(*gpu, std::move(parts.plan), parts.objects,
                                   std::move(parts.constants),
                                   std::move(regions), options));
  }
  loaded->inputs_ = InputNesting(std::move(parts.input_structure));
  loaded->output_structure_ = std::move(parts.output_structure);
  loaded->report_ = std::move(parts.report);
  loaded->input_queries_ = FindInputQueries(model);
  loaded->may_write_inputs_ = loaded->report_.LibTorchRunsAll() &&
                              !loaded->input_queries_.write.empty();
  loaded->sees_dict_order_ = SeesDictOrder(model);
  return loaded;
}

absl::Status CompiledModel::CheckSharedMemory(const FlatTensors& inputs) const {
  if (!WritesInputs()) return absl::OkStatus();
  struct Memory : MemoryRange {
    size_t place;
    bool is_written;
  };
  std::vector<Memory> memories;
  for (size_t i = 0; i < inputs.views.size(); ++i)
    memories.push_back(
        {MemoryRange::Of(inputs.views[i]), i, may_write_inputs_});
  for (const int written : written_inputs_)
    memories.at(static_cast<size_t>(written)).is_written = true;
  std::sort(memories.begin(), memories.end(),
            [](const Memory& a, const Memory& b) { return a.begin < b.begin; });
  // Of those before, the ones that reach farthest.
  const Memory *any = nullptr, *written = nullptr;
  for (const Memory& memory : memories) {
    if (memory.begin == memory.end) continue;
    const Memory* const other = memory.is_written ? any : written;
    if (other != nullptr && memory.begin < other->end)
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", std::max(memory.place, other->place),
                       " of the arguments shares memory with tensor ",
                       std::min(memory.place, other->place),
                       ", and the program writes to one of them (",
                       input_queries_.write, "): call .clone() on it before"));
    const auto reaches = [&](const Memory*& farthest) {
      if (farthest == nullptr || farthest->end < memory.end) farthest = &memory;
    };
    reaches(any);
    if (memory.is_written) reaches(written);
  }
  return absl::OkStatus();
}

bool CompiledModel::WritesSharedMemory(const ValueList& arguments) const {
  if (!CheckSharedWrites(input_queries_, arguments).ok()) return true;
  if (!WritesInputs()) return false;
  const absl::StatusOr<FlatTensors> inputs =
      inputs_.Flatten(arguments, device_, ConstantCheck::kTakeConstants);
  return inputs.ok() && !CheckSharedMemory(*inputs).ok();
}

absl::StatusOr<bool> CompiledModel::WritesSharedMemory(
    absl::Span<const RegionValue> leaves) const {
  if (!WritesInputs()) return false;
  AITUNE_ASSIGN_OR_RETURN(
      const FlatTensors inputs,
      inputs_.TensorsOf(leaves, device_, ConstantCheck::kTakeConstants));
  return !CheckSharedMemory(inputs).ok();
}

absl::StatusOr<CompiledModel::Call> CompiledModel::Prepare(
    FlatTensors inputs) const {
  Call call;
  call.inputs = std::move(inputs);
  AITUNE_ASSIGN_OR_RETURN(call.outputs,
                          Allocate(*executable_, call.inputs.views, device_));
  return call;
}

absl::StatusOr<FlatTensors> CompiledModel::Flatten(const ValueList& arguments,
                                                   ConstantCheck check) const {
  AITUNE_RETURN_IF_ERROR(CheckQueries(input_queries_, arguments));
  AITUNE_RETURN_IF_ERROR(CheckSharedWrites(input_queries_, arguments));
  AITUNE_ASSIGN_OR_RETURN(FlatTensors inputs,
                          inputs_.Flatten(arguments, device_, check));
  if (sees_dict_order_) {
    AITUNE_RETURN_IF_ERROR(
        CheckKeyOrder(inputs_.structure(), arguments.values()));
  }
  AITUNE_RETURN_IF_ERROR(CheckSharedMemory(inputs));
  return inputs;
}

absl::StatusOr<CompiledModel::Call> CompiledModel::Prepare(
    const ValueList& arguments, ConstantCheck check) const {
  AITUNE_ASSIGN_OR_RETURN(FlatTensors inputs, Flatten(arguments, check));
  return Prepare(std::move(inputs));
}

absl::Status CompiledModel::Execute(Call& call) const {
  return executable_->Run(call.inputs.views,
                          absl::MakeSpan(call.outputs.values),
                          device_.is_gpu() ? CurrentStream(device_) : nullptr);
}

bool CompiledModel::Fits(const ValueList& arguments) const {
  const absl::StatusOr<FlatTensors> inputs =
      Flatten(arguments, ConstantCheck::kCheck);
  return inputs.ok() && executable_->OutputSizes(inputs->views).ok();
}

bool CompiledModel::FitsTensors(absl::Span<const TensorView> tensors) const {
  return executable_->OutputSizes(tensors).ok();
}

absl::Status CompiledModel::TakeFailedCheck() const {
  AITUNE_RETURN_IF_ERROR(executable_->TakeFailedCheck());
  for (const auto& outlined : outlined_)
    AITUNE_RETURN_IF_ERROR(outlined->TakeFailedCheck());
  if (others_ == nullptr) return absl::OkStatus();
  for (const CompiledModel* other : others_->all())
    AITUNE_RETURN_IF_ERROR(other->TakeFailedCheck());
  return absl::OkStatus();
}

BuiltVersion CompiledModel::Describe() const {
  return {report_, cache_,        phase_seconds_, MemoryInBytes(),
          device_, GraphReason(), EagerParts()};
}

std::vector<const CompiledModel*> CompiledModel::versions() const {
  std::vector<const CompiledModel*> versions = {this};
  if (others_ == nullptr) return versions;
  for (const CompiledModel* other : others_->all()) versions.push_back(other);
  return versions;
}

int64_t CompiledModel::MemoryInBytes() const {
  int64_t bytes = executable_->MemoryInBytes();
  for (const auto& outlined : outlined_) bytes += outlined->MemoryInBytes();
  return bytes;
}

MemoryUse CompiledModel::Memory() const {
  MemoryUse use = executable_->Memory();
  for (const auto& outlined : outlined_) use += outlined->Memory();
  return use;
}

void CompiledModel::FreeKeptMemory() const {
  executable_->FreeKeptMemory();
  for (const auto& outlined : outlined_) outlined->FreeKeptMemory();
}

void CompiledModel::SetAllocator(
    std::shared_ptr<const HostAllocator> allocator) const {
  for (const auto& outlined : outlined_) outlined->SetAllocator(allocator);
  executable_->SetAllocator(std::move(allocator));
}

int64_t CompiledModel::EagerParts() const {
  int64_t runs = 0;
  for (const auto& program : outlined_programs_) runs += program->misfits();
  return runs;
}

absl::StatusOr<std::vector<StepProfile>> CompiledModel::Profile(
    const ValueList& arguments, int repeats) const {
  AITUNE_ASSIGN_OR_RETURN(Call call, Prepare(arguments, ConstantCheck::kCheck));
  const absl::Span<RegionValue> outputs = absl::MakeSpan(call.outputs.values);
  if (!device_.is_gpu())
    return executable_->Profile(call.inputs.views, outputs, repeats);
  // A stream that no other thread's call is on, behind what makes the inputs.
  AITUNE_ASSIGN_OR_RETURN(const cuda::Device* gpu,
                          cuda::Device::Open(device_.gpu()));
  AITUNE_ASSIGN_OR_RETURN(const cuda::Stream stream,
                          cuda::Stream::Create(*gpu));
  AITUNE_RETURN_IF_ERROR(
      stream.WaitFor(static_cast<CUstream>(CurrentStream(device_))));
  const ScopedStream current(device_, stream.get());
  absl::StatusOr<std::vector<StepProfile>> profile =
      executable_->Profile(call.inputs.views, outputs, repeats, stream.get());
  // The inputs and outputs are freed on LibTorch's stream.
  AITUNE_RETURN_IF_ERROR(stream.Synchronize());
  return profile;
}

absl::StatusOr<std::vector<int64_t>> CompiledModel::SymbolValues(
    const ValueList& arguments) const {
  AITUNE_ASSIGN_OR_RETURN(const FlatTensors inputs,
                          inputs_.Flatten(arguments, device_));
  std::vector<int64_t> values;
  for (const SymbolProto& symbol : plan().symbols()) {
    const TensorView& view = inputs.views[symbol.input()];
    if (symbol.axis() >= static_cast<int>(view.sizes.size()))
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", symbol.input(), " has no axis ", symbol.axis()));
    values.push_back(view.sizes[symbol.axis()]);
  }
  return values;
}

}  // namespace aitune::frontend
