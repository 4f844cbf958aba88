#include "runtime/cuda/cuda_executable.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "runtime/cuda/cuda_instance.h"
#include "runtime/cuda/graph_reason.h"
#include "runtime/cuda/instance_cache.h"
#include "runtime/cuda/own_memory.h"
#include "runtime/cuda/profiler_range.h"
#include "runtime/cuda/stream_capture.h"
#include "runtime/executable/input_binding.h"
#include "runtime/logging/logging.h"
#include "runtime/status/status_macros.h"

namespace aitune::cuda {
namespace {

using Key = InstanceCache::Key;
using Addresses = absl::InlinedVector<void*, 16>;

// So often in turn a recording may fail before no more is tried.
constexpr int kMostFailures = 5;

Addresses InputAddresses(absl::Span<const TensorView> inputs) {
  Addresses addresses;
  for (const TensorView& input : inputs) addresses.push_back(input.data);
  return addresses;
}

Addresses OutputAddresses(absl::Span<RegionValue> outputs) {
  Addresses addresses;
  for (const RegionValue& output : outputs) {
    const auto* tensor = std::get_if<TensorView>(&output);
    addresses.push_back(tensor == nullptr ? nullptr : tensor->data);
  }
  return addresses;
}

}  // namespace

struct CudaExecutable::Impl {
  Impl(const Device& device, std::unique_ptr<LoadedPlan> loaded,
       InputBinding binding, const Options& options)
      : device(device),
        plan(std::move(loaded)),
        binding(std::move(binding)),
        instances(device, *plan, kernels, options.next, options.algorithms) {}

  // The instance for the sizes of these inputs.
  absl::StatusOr<std::shared_ptr<const CudaInstance>> Get(
      absl::Span<const TensorView> inputs);
  absl::Status Run(absl::Span<const TensorView> inputs,
                   absl::Span<RegionValue> outputs, CUstream stream,
                   bool with_graph);
  // As Run, into the graph that the caller records on `stream`.
  absl::Status RunInGraph(absl::Span<const TensorView> inputs,
                          absl::Span<RegionValue> outputs, CUstream stream);
  // Queues a run with the memory of `context`.
  absl::Status RunIn(const CudaInstance& instance,
                     CudaInstance::Context& context,
                     absl::Span<const TensorView> inputs,
                     absl::Span<RegionValue> outputs, CUstream stream,
                     bool with_graph);
  // Queues a run on these addresses, which are aligned; `context` is of this
  // instance.
  absl::Status RunAt(const CudaInstance& instance,
                     CudaInstance::Context& context,
                     absl::Span<void* const> from, absl::Span<void* const> to,
                     absl::Span<RegionValue> outputs, CUstream stream,
                     bool with_graph);
  // Of a recording that failed, so often in turn with the same memory: gives
  // graphs up where it would fail again.
  void NoteFailure(const CudaInstance::Recording& recording, int failures);
  // As RunAt, step by step.
  absl::Status RunSteps(const CudaInstance& instance,
                        CudaInstance::Context& context,
                        absl::Span<void* const> from,
                        absl::Span<void* const> to,
                        absl::Span<RegionValue> outputs, CUstream stream);
  std::string_view GraphReason() const {
    const std::string* reason = graph_reason.load(std::memory_order_acquire);
    return reason == nullptr ? std::string_view() : *reason;
  }
  // Whether this reason, which is not empty, is the first, which stays.
  bool SetGraphReason(std::string reason) {
    bool is_first = false;
    std::call_once(refused, [&] {
      first_reason = std::move(reason);
      graph_reason.store(&first_reason, std::memory_order_release);
      is_first = true;
    });
    return is_first;
  }

  const Device& device;
  const std::unique_ptr<LoadedPlan> plan;
  const InputBinding binding;
  std::vector<Module> modules;
  Kernels kernels;
  std::shared_ptr<DeviceMemory> memory;
  std::shared_ptr<RegionRecorder> region_recorder;  // null without regions
  std::shared_ptr<RunGate> gate;                    // null where none is needed

  std::once_flag refused;
  std::string first_reason;  // written once, before graph_reason is
  std::atomic<const std::string*> graph_reason =
      nullptr;  // null: there is none
  InstanceCache instances;
  std::mutex recording_mutex;  // held while `recorder` records
  Stream recorder;
};

absl::StatusOr<std::shared_ptr<const CudaInstance>> CudaExecutable::Impl::Get(
    absl::Span<const TensorView> inputs) {
  Key key(binding.symbol_count());
  AITUNE_RETURN_IF_ERROR(binding.Bind(inputs, absl::MakeSpan(key)));
  return instances.Get(key);
}

absl::Status CudaExecutable::Impl::Run(absl::Span<const TensorView> inputs,
                                       absl::Span<RegionValue> outputs,
                                       CUstream stream, bool with_graph) {
  const ProfilerRange range("aitune call");
  AITUNE_ASSIGN_OR_RETURN(const ContextScope scope,
                          ContextScope::Enter(device));
  AITUNE_RETURN_IF_ERROR(instances.TakeFailedCheck());
  if (IsRecording(device.driver(), stream))
    return RunInGraph(inputs, outputs, stream);
  AITUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const CudaInstance> instance,
                          Get(inputs));
  AITUNE_RETURN_IF_ERROR(instance->CheckOutputs(outputs));
  AITUNE_ASSIGN_OR_RETURN(const ScopedGate entered,
                          ScopedGate::Enter(gate.get(), stream));
  AITUNE_ASSIGN_OR_RETURN(std::unique_ptr<CudaInstance::Context> context,
                          instance->Take(stream));
  const absl::Status status =
      RunIn(*instance, *context, inputs, outputs, stream, with_graph);
  instance->Return(std::move(context), stream);
  return status;
}

absl::Status CudaExecutable::Impl::RunInGraph(
    absl::Span<const TensorView> inputs, absl::Span<RegionValue> outputs,
    CUstream stream) {
  // What the call prepares is not of the recording.
  const RelaxedCapture relaxed(device.driver());
  instances.TakeBack();
  AITUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const CudaInstance> instance,
                          Get(inputs));
  AITUNE_RETURN_IF_ERROR(instance->CheckOutputs(outputs));
  AITUNE_ASSIGN_OR_RETURN(const ScopedGate entered,
                          ScopedGate::Enter(gate.get(), stream));
  AITUNE_ASSIGN_OR_RETURN(InstanceCache::Lent lent,
                          instances.TakeForGraph(instance, stream));
  // A graph cannot be launched into another that is being recorded.
  const absl::Status status = RunIn(*instance, *lent.context, inputs, outputs,
                                    stream, /*with_graph=*/false);
  instances.Lend(std::move(lent));
  return status;
}

absl::Status CudaExecutable::Impl::RunIn(const CudaInstance& instance,
                                         CudaInstance::Context& context,
                                         absl::Span<const TensorView> inputs,
                                         absl::Span<RegionValue> outputs,
                                         CUstream stream, bool with_graph) {
  const Addresses given_from = InputAddresses(inputs),
                  given_to = OutputAddresses(outputs);
  Addresses from = given_from, to = given_to;
  AITUNE_RETURN_IF_ERROR(instance.Align(context, absl::MakeSpan(from),
                                        absl::MakeSpan(to), stream));
  AITUNE_RETURN_IF_ERROR(
      RunAt(instance, context, from, to, outputs, stream, with_graph));
  return instance.CopyBack(from, to, given_from, given_to, stream);
}

absl::Status CudaExecutable::Impl::RunAt(const CudaInstance& instance,
                                         CudaInstance::Context& context,
                                         absl::Span<void* const> from,
                                         absl::Span<void* const> to,
                                         absl::Span<RegionValue> outputs,
                                         CUstream stream, bool with_graph) {
  // The first run of a context has the libraries load their code, which a
  // recording does not allow.
  if (!context.ran) {
    const RelaxedCapture relaxed(device.driver());
    return RunSteps(instance, context, from, to, outputs, stream);
  }
  if (!with_graph)
    return RunSteps(instance, context, from, to, outputs, stream);
  CudaInstance::Recording recording;
  recording.mutex = &recording_mutex;
  recording.regions = region_recorder.get();
  recording.stream = recorder.get();
  const absl::StatusOr<bool> queued =
      instance.RunGraph(context, from, to, stream, recording);
  if (!recording.failure.ok())
    NoteFailure(recording, context.failed_recordings);
  AITUNE_RETURN_IF_ERROR(queued.status());
  return *queued ? absl::OkStatus()
                 : RunSteps(instance, context, from, to, outputs, stream);
}

void CudaExecutable::Impl::NoteFailure(const CudaInstance::Recording& recording,
                                       int failures) {
  // Later there may be memory, and nobody who disturbs the recording.
  if (absl::IsResourceExhausted(recording.failure) ||
      IsLostRecording(device.driver(), recording.failure))
    return;
  const std::string why(recording.failure.message());
  const bool by_region =
      recording.regions != nullptr && recording.tried && recording.tried->ok();
  std::string reason;
  if (by_region)
    reason = absl::StrCat(
        "skipping CUDA graphs due to unsupported operations: LibTorch runs "
        "some that can't be recorded: ",
        why);
  else if (failures >= kMostFailures)
    reason = absl::StrCat("skipping CUDA graphs: recording failed ", failures,
                          " times in turn: ", why);
  if (!reason.empty() && SetGraphReason(std::move(reason)))
    Log(LogChannel::kPerfHints, GraphReason());
}

absl::Status CudaExecutable::Impl::RunSteps(const CudaInstance& instance,
                                            CudaInstance::Context& context,
                                            absl::Span<void* const> from,
                                            absl::Span<void* const> to,
                                            absl::Span<RegionValue> outputs,
                                            CUstream stream) {
  instance.Patch(context, from, to);
  absl::Status status = instance.Enqueue(context, stream);
  if (status.ok()) status = instance.Copies(context, to, stream);
  instance.TakeOpaqueOutputs(context, outputs);
  return status;
}

CudaExecutable::CudaExecutable(std::unique_ptr<Impl> impl)
    : Executable(*impl->plan, impl->binding), impl_(std::move(impl)) {}

CudaExecutable::~CudaExecutable() {
  // Queued work may still use the memory.
  const auto scope = ContextScope::Enter(impl_->device);
  if (!scope.ok()) return;
  impl_->instances.Wait();
  const absl::Status failure = impl_->instances.TakeFailedCheck();
  if (!failure.ok()) {
    Log(LogChannel::kError,
        absl::StrCat("the results of an earlier call on a GPU are wrong: ",
                     failure.message()));
  }
}

absl::StatusOr<std::unique_ptr<CudaExecutable>> CudaExecutable::Load(
    const Device& device, ExecutablePlan plan,
    const std::vector<std::string>& cubins,
    std::vector<ConstantTensor> constants,
    std::vector<std::unique_ptr<FallbackRegion>> regions,
    const Options& options) {
  AITUNE_ASSIGN_OR_RETURN(const ContextScope scope,
                          ContextScope::Enter(device));
  const RelaxedCapture relaxed(device.driver());
  AITUNE_ASSIGN_OR_RETURN(Stream recorder, Stream::Create(device));
  std::shared_ptr<DeviceMemory> memory = options.memory;
  if (memory == nullptr)
    memory = std::make_shared<OwnMemory>(device, recorder.get());
  AITUNE_ASSIGN_OR_RETURN(
      std::unique_ptr<LoadedPlan> loaded,
      LoadedPlan::Load(std::move(plan), nullptr, std::move(constants),
                       std::move(regions), memory.get()));
  AITUNE_ASSIGN_OR_RETURN(InputBinding binding,
                          InputBinding::Create(loaded->plan()));
  auto impl = std::make_unique<Impl>(device, std::move(loaded),
                                     std::move(binding), options);
  impl->memory = std::move(memory);
  impl->gate = options.gate;
  for (const std::string& cubin : cubins) {
    AITUNE_ASSIGN_OR_RETURN(Module module, Module::Load(device, cubin));
    impl->modules.push_back(std::move(module));
  }
  auto find = [&](const std::vector<LoadedStep>& steps) {
    for (const LoadedStep& step : steps) {
      const std::string& symbol = step.proto->cuda_kernel().symbol();
      if (symbol.empty() || impl->kernels.contains(symbol)) continue;
      for (const Module& module : impl->modules) {
        if (CUfunction function = module.Find(symbol)) {
          impl->kernels[symbol] = function;
          break;
        }
      }
    }
  };
  find(impl->plan->initialization());
  find(impl->plan->steps());
  const auto& steps = impl->plan->plan().steps();
  if (std::any_of(steps.begin(), steps.end(),
                  [](const Step& step) { return step.has_fallback(); }))
    impl->region_recorder = options.recorder;
  if (std::string reason =
          options.graphs
              ? FindGraphReason(*impl->plan, impl->region_recorder != nullptr)
              : "CUDA graphs are switched off";
      !reason.empty())
    impl->SetGraphReason(std::move(reason));
  impl->recorder = std::move(recorder);
  if (!impl->plan->initialization().empty()) {
    AITUNE_ASSIGN_OR_RETURN(
        const std::unique_ptr<CudaInstance> initialization,
        CudaInstance::Create(device, *impl->plan, impl->kernels,
                             /*initialization=*/true, AfterCall::kAnything,
                             options.algorithms, {}));
    AITUNE_ASSIGN_OR_RETURN(std::unique_ptr<CudaInstance::Context> context,
                            initialization->NewContext());
    // On the stream on which constants are copied.
    AITUNE_RETURN_IF_ERROR(
        initialization->Enqueue(*context, impl->recorder.get()));
    AITUNE_RETURN_IF_ERROR(impl->recorder.Synchronize());
    AITUNE_RETURN_IF_ERROR(initialization->TakeFailedCheck(*context));
  }
  // A copy may have more to do than to read its source, and calls are on other
  // streams.
  AITUNE_RETURN_IF_ERROR(impl->recorder.Synchronize());
  impl->plan->ReleaseUnusedConstants();
  if (impl->binding.symbol_count() == 0) {
    // The sizes are known: fail now rather than in the first call.
    AITUNE_RETURN_IF_ERROR(impl->instances.Get(Key()).status());
  }
  return std::unique_ptr<CudaExecutable>(new CudaExecutable(std::move(impl)));
}

absl::Status CudaExecutable::Run(absl::Span<const TensorView> inputs,
                                 absl::Span<RegionValue> outputs,
                                 void* stream_of_caller) const {
  return impl_->Run(inputs, outputs, static_cast<CUstream>(stream_of_caller),
                    /*with_graph=*/impl_->GraphReason().empty());
}

absl::Status CudaExecutable::TakeFailedCheck() const {
  return impl_->instances.TakeFailedCheck();
}

absl::Status CudaExecutable::Enqueue(absl::Span<const TensorView> inputs,
                                     absl::Span<RegionValue> outputs,
                                     CUstream stream) const {
  return impl_->Run(inputs, outputs, stream, /*with_graph=*/false);
}

absl::Status CudaExecutable::RunPart(absl::Span<const TensorView> inputs,
                                     absl::Span<RegionValue> outputs, int steps,
                                     absl::Span<const ValueCopy> copies,
                                     void* stream_of_caller) const {
  const auto stream = static_cast<CUstream>(stream_of_caller);
  AITUNE_ASSIGN_OR_RETURN(const ContextScope scope,
                          ContextScope::Enter(impl_->device));
  const RelaxedCapture relaxed(impl_->device.driver());
  AITUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const CudaInstance> instance,
                          impl_->Get(inputs));
  AITUNE_RETURN_IF_ERROR(instance->CheckOutputs(outputs));
  AITUNE_ASSIGN_OR_RETURN(const ScopedGate entered,
                          ScopedGate::Enter(impl_->gate.get(), stream));
  AITUNE_ASSIGN_OR_RETURN(std::unique_ptr<CudaInstance::Context> context,
                          instance->Take(stream));
  const Addresses given_from = InputAddresses(inputs),
                  given_to = OutputAddresses(outputs);
  Addresses from = given_from, to = given_to;
  absl::Status status = instance->Align(*context, absl::MakeSpan(from),
                                        absl::MakeSpan(to), stream);
  if (status.ok()) {
    instance->Patch(*context, from, to);
    status = instance->Enqueue(*context, stream, steps);
  }
  if (status.ok())
    status = instance->CopyBack(from, to, given_from, given_to, stream);
  if (status.ok())
    status = impl_->device.driver().Check(
        impl_->device.driver().cuStreamSynchronize(stream),
        "waiting for the first steps of a model");
  for (const ValueCopy& copy : copies) {
    if (!status.ok()) break;
    status = instance->CopyValue(*context, to, copy);
  }
  for (OpaqueValue& value : context->opaques) value.reset();
  instance->Return(std::move(context), stream);
  return status;
}

absl::StatusOr<std::vector<StepProfile>> CudaExecutable::Profile(
    absl::Span<const TensorView> inputs, absl::Span<RegionValue> outputs,
    int repeats, void* stream_of_caller) const {
  if (repeats < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("profile: at least one run is needed, not ", repeats));
  }
  Impl& impl = *impl_;
  AITUNE_ASSIGN_OR_RETURN(const ContextScope scope,
                          ContextScope::Enter(impl.device));
  const RelaxedCapture relaxed(impl.device.driver());
  Stream own;
  if (stream_of_caller == nullptr) {
    AITUNE_ASSIGN_OR_RETURN(own, Stream::Create(impl.device));
  }
  const CUstream stream = stream_of_caller == nullptr
                              ? own.get()
                              : static_cast<CUstream>(stream_of_caller);
  AITUNE_RETURN_IF_ERROR(impl.Run(inputs, outputs, stream, false));
  AITUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const CudaInstance> instance,
                          impl.Get(inputs));
  AITUNE_ASSIGN_OR_RETURN(const ScopedGate entered,
                          ScopedGate::Enter(impl.gate.get(), stream));
  AITUNE_ASSIGN_OR_RETURN(std::unique_ptr<CudaInstance::Context> context,
                          instance->Take(stream));
  AITUNE_ASSIGN_OR_RETURN(const Event start, Event::Create(impl.device, true));
  AITUNE_ASSIGN_OR_RETURN(const Event end, Event::Create(impl.device, true));
  std::vector<StepProfile> profiles;
  auto measure = [&](int step) -> absl::StatusOr<double> {
    auto run = [&]() -> absl::Status {
      for (int i = 0; i < repeats; ++i) {
        AITUNE_RETURN_IF_ERROR(instance->EnqueueStep(step, *context, stream));
      }
      return absl::OkStatus();
    };
    Graph graph;
    if (!impl.plan->steps()[step].proto->has_fallback()) {
      AITUNE_ASSIGN_OR_RETURN(graph, Graph::Capture(impl.device, stream, run));
      AITUNE_RETURN_IF_ERROR(graph.Launch(stream));
    }
    AITUNE_RETURN_IF_ERROR(start.Record(stream));
    AITUNE_RETURN_IF_ERROR(graph ? graph.Launch(stream) : run());
    AITUNE_RETURN_IF_ERROR(end.Record(stream));
    AITUNE_ASSIGN_OR_RETURN(const float milliseconds,
                            end.MillisecondsSince(start));
    return milliseconds * 1e3 / repeats;
  };
  // What the run above has found wrong. A step that runs again may read what it
  // has written over its own operand, and what it finds then means nothing.
  absl::Status status = impl.device.driver().Check(
      impl.device.driver().cuStreamSynchronize(stream),
      "waiting for a call that is profiled");
  Addresses from = InputAddresses(inputs), to = OutputAddresses(outputs);
  if (status.ok())
    status = instance->Align(*context, absl::MakeSpan(from), absl::MakeSpan(to),
                             stream);
  if (status.ok()) instance->Patch(*context, from, to);
  if (status.ok()) status = instance->TakeFailedCheck(*context);
  for (int step = 0; step < instance->step_count() && status.ok(); ++step) {
    const absl::StatusOr<double> microseconds =
        instance->runs(step) ? measure(step) : absl::StatusOr<double>(0);
    status = microseconds.status();
    if (!status.ok()) break;
    profiles.push_back({impl.plan->steps()[step].proto->name(), *microseconds});
  }
  if (status.ok()) instance->TakeFailedCheck(*context).IgnoreError();
  instance->Return(std::move(context), stream);
  if (!status.ok()) return status;
  return profiles;
}

std::string_view CudaExecutable::GraphReason() const {
  return impl_->GraphReason();
}

const Device& CudaExecutable::device() const { return impl_->device; }

void CudaExecutable::PoisonMemory(CUstream stream) const {
  impl_->instances.PoisonMemory(stream);
}

MemoryUse CudaExecutable::Memory() const {
  MemoryUse use = impl_->plan->Memory();
  use += impl_->instances.Memory();
  return use;
}

void CudaExecutable::FreeKeptMemory() const {
  const absl::StatusOr<ContextScope> scope = ContextScope::Enter(impl_->device);
  if (scope.ok()) impl_->instances.FreeUnused();
}

}  // namespace aitune::cuda
