#include "runtime/executable/instance.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/control/call_limit.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

absl::Status InStep(const LoadedStep& step, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("step '", step.proto->name(),
                                                  "': ", status.message()));
}

bool IsLibraryCall(const LoadedStep& step) {
  return step.proto->has_matmul() || step.proto->has_convolution();
}

double Microseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

}  // namespace

// What one call in progress changes. Reused by later calls.
struct Instance::Context {
  struct Region {
    std::vector<RegionValue> inputs, outputs;
  };
  // The addresses of each step's inputs and outputs, one step after another.
  std::vector<void*> buffers;
  // Each step's binding; null for other steps.
  std::vector<std::unique_ptr<LibraryCall::Binding>> bindings;
  std::vector<Region> regions;       // each step's operands
  std::vector<OpaqueValue> opaques;  // each value that is no tensor
  std::vector<KernelCheck> checks;   // clear between calls
  AlignedBuffer arena;               // the intermediate values of a call
  char* patched_for = nullptr;       // the arena that `buffers` point into
  // The caller's, during a call.
  absl::Span<const RegionValue> outputs;
};

// A context, with an arena, for the time of a call.
class Instance::Borrowed {
 public:
  explicit Borrowed(const Instance& instance)
      : instance_(instance), context_(instance.TakeContext()) {}
  ~Borrowed() {
    for (OpaqueValue& value : context_->opaques) value.reset();
    if (context_->arena.data() != nullptr) {
      instance_.plan_.arenas().Release(std::move(context_->arena));
    }
    instance_.ReturnContext(std::move(context_));
  }
  Context& context() { return *context_; }

 private:
  const Instance& instance_;
  std::unique_ptr<Context> context_;
};

Instance::Instance(const LoadedPlan& plan, bool initialization, int threads)
    : plan_(plan),
      initialization_(initialization),
      threads_(threads),
      steps_(initialization ? plan.initialization() : plan.steps()) {}

Instance::~Instance() = default;

absl::StatusOr<std::unique_ptr<Instance>> Instance::Create(
    const LoadedPlan& plan, bool initialization,
    absl::Span<const int64_t> symbols, int threads) {
  std::unique_ptr<Instance> instance(
      new Instance(plan, initialization, threads));
  const std::vector<LoadedStep>& steps = instance->steps_;
  instance->symbols_.assign(symbols.begin(), symbols.end());
  AITUNE_ASSIGN_OR_RETURN(
      instance->layout_,
      InstanceLayout::Analyze(plan, steps, symbols, initialization));
  AITUNE_RETURN_IF_ERROR(instance->PrepareKernels());
  instance->library_.resize(steps.size());
  std::vector<int64_t> scratch_bytes(steps.size(), 0);
  for (size_t s = 0; s < steps.size(); ++s) {
    if (!IsLibraryCall(steps[s])) continue;
    AITUNE_RETURN_IF_ERROR(instance->PrepareLibraryCall(static_cast<int>(s)));
    scratch_bytes[s] = instance->library_[s]->scratch_bytes();
  }
  instance->layout_.Place(scratch_bytes);
  instance->slots_ = BufferSlots::Number(plan, steps, instance->layout_);
  instance->checks_ = KernelChecks(plan, steps);
  return instance;
}

absl::Status Instance::PrepareKernels() {
  grids_.assign(steps_.size(), 0);
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (steps_[s].kernel == nullptr) continue;
    const absl::StatusOr<int64_t> grid = EvaluateSize(steps_[s].grid, symbols_);
    if (!grid.ok()) return InStep(steps_[s], grid.status());
    grids_[s] = *grid;
  }
  region_ends_.assign(steps_.size(), 0);
  for (size_t s = 0; s < steps_.size();) {
    size_t end = s;
    bool parallel = false;
    for (; end < steps_.size() && steps_[end].kernel != nullptr; ++end) {
      const int64_t grain = steps_[end].proto->kernel().grain();
      parallel |= grids_[end] / std::max<int64_t>(grain, 1) > 1;
    }
    if (parallel) region_ends_[s] = static_cast<int>(end);
    s = std::max(end, s + 1);
  }
  return absl::OkStatus();
}

absl::Status Instance::PrepareLibraryCall(int step) {
  const LoadedStep& loaded = steps_[step];
  std::vector<LibraryOperand> inputs;
  for (int32_t value : loaded.inputs) {
    const int32_t root = plan_.values()[value].root;
    const LoadedValue& base = plan_.values()[root];
    LibraryOperand operand;
    operand.view.dtype = plan_.values()[value].type.dtype;
    operand.view.sizes = layout_.sizes(value);
    // Persistent values are constants once the initialization has run.
    if (base.storage == ValueProto::CONSTANT ||
        (base.persistent && !initialization_)) {
      operand.view.data = base.fixed;
      operand.constant = root;
    }
    inputs.push_back(std::move(operand));
  }
  TensorView output;
  output.dtype = plan_.values()[loaded.outputs[0]].type.dtype;
  output.sizes = layout_.sizes(loaded.outputs[0]);
  auto prepare = [&](int in_place) {
    const ScopedThreadCount scope(threads_);
    return loaded.proto->has_matmul()
               ? Prepare(loaded.proto->matmul(), inputs, output, in_place,
                         plan_.weights())
               : Prepare(loaded.proto->convolution(), inputs, output, in_place,
                         plan_.weights());
  };
  absl::StatusOr<std::unique_ptr<LibraryCall>> call =
      prepare(layout_.in_place(step));
  if (!call.ok() && layout_.in_place(step) >= 0) {
    layout_.KeepApart(step);
    call = prepare(-1);
  }
  if (!call.ok()) return InStep(loaded, call.status());
  library_[step] = *std::move(call);
  return absl::OkStatus();
}

std::unique_ptr<Instance::Context> Instance::NewContext() const {
  auto context = std::make_unique<Context>();
  context->buffers = slots_.fixed;
  context->checks.resize(checks_.count());
  for (const BufferSlots::Patch& patch : slots_.checks) {
    context->buffers[patch.slot] = context->checks.data() + patch.index;
  }
  context->bindings.resize(steps_.size());
  context->regions.resize(steps_.size());
  bool has_opaque = false;
  auto region_value = [&](int32_t value) -> RegionValue {
    const LoadedValue& loaded = plan_.values()[value];
    if (loaded.storage == ValueProto::OPAQUE) {
      has_opaque = true;
      return OpaqueValue();
    }
    return TensorView{nullptr, loaded.type.dtype, layout_.sizes(value)};
  };
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (library_[s] != nullptr) {
      context->bindings[s] = library_[s]->Bind();
    }
    if (steps_[s].region == nullptr) continue;
    for (int32_t value : steps_[s].inputs) {
      context->regions[s].inputs.push_back(region_value(value));
    }
    for (int32_t value : steps_[s].outputs) {
      context->regions[s].outputs.push_back(region_value(value));
    }
  }
  for (int32_t value : plan_.output_values())
    has_opaque |= plan_.given_output(value) >= 0;
  if (has_opaque) context->opaques.resize(plan_.values().size());
  return context;
}

std::unique_ptr<Instance::Context> Instance::TakeContext() const {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!free_contexts_.empty()) {
      std::unique_ptr<Context> context = std::move(free_contexts_.back());
      free_contexts_.pop_back();
      return context;
    }
    free_contexts_.reserve(++contexts_);  // so that a return never allocates
  }
  return NewContext();
}

void Instance::ReturnContext(std::unique_ptr<Context> context) const {
  std::lock_guard<std::mutex> lock(mutex_);
  free_contexts_.push_back(std::move(context));
}

absl::Status Instance::Patch(absl::Span<const TensorView> inputs,
                             absl::Span<RegionValue> outputs,
                             Context& context) const {
  if (!initialization_)
    AITUNE_RETURN_IF_ERROR(CheckOutputs(plan_, layout_, outputs));
  AITUNE_ASSIGN_OR_RETURN(context.arena,
                          plan_.arenas().Acquire(layout_.arena_bytes()));
  std::vector<void*>& buffers = context.buffers;
  char* const arena = context.arena.data();
  if (arena != context.patched_for) {
    for (const BufferSlots::Patch& patch : slots_.arena) {
      buffers[patch.slot] = arena + patch.offset;
    }
    context.patched_for = arena;
  }
  for (const BufferSlots::Patch& patch : slots_.inputs) {
    buffers[patch.slot] =
        static_cast<char*>(inputs[patch.index].data) + patch.offset;
  }
  context.outputs = outputs;
  for (const BufferSlots::Patch& patch : slots_.outputs) {
    const auto* tensor = std::get_if<TensorView>(&outputs[patch.index]);
    buffers[patch.slot] = tensor == nullptr
                              ? nullptr
                              : static_cast<char*>(tensor->data) + patch.offset;
  }
  return absl::OkStatus();
}

absl::Status Instance::RunSteps(int steps, Context& context,
                                double* step_microseconds) const {
  std::chrono::steady_clock::time_point start;
  if (step_microseconds != nullptr) start = std::chrono::steady_clock::now();
  const CallLimit* const limit = CurrentCallLimit();
  int s = 0;
  absl::Status status;
  auto run_until = [&](int end) {
    for (; s < end && status.ok(); ++s) {
      if (limit != nullptr) status = limit->Check();
      // A region may leave something behind the call.
      if (status.ok() && steps_[s].region != nullptr)
        status = checks_.Take(absl::MakeSpan(context.checks), symbols_);
      if (status.ok()) status = RunStep(s, context);
      for (int32_t value : layout_.last_uses(s)) context.opaques[value].reset();
      if (step_microseconds == nullptr) continue;
      const auto now = std::chrono::steady_clock::now();
      step_microseconds[s] += Microseconds(now - start);
      start = now;
    }
  };
  while (s < steps && status.ok()) {
    const int end = std::min(region_ends_[s], steps);
    if (end > s) {
      ParallelRegion([&] { run_until(end); });
    } else {
      run_until(s + 1);
    }
  }
  // First: what failed later may have failed because of it.
  AITUNE_RETURN_IF_ERROR(
      checks_.Take(absl::MakeSpan(context.checks), symbols_));
  return status;
}

absl::Status Instance::Run(absl::Span<const TensorView> inputs,
                           absl::Span<RegionValue> outputs,
                           double* step_microseconds) const {
  Borrowed borrowed(*this);
  Context& context = borrowed.context();
  AITUNE_RETURN_IF_ERROR(Patch(inputs, outputs, context));
  AITUNE_RETURN_IF_ERROR(
      RunSteps(static_cast<int>(steps_.size()), context, step_microseconds));
  for (size_t c = 0; c < layout_.copies().size(); ++c) {
    const OutputCopy& copy = layout_.copies()[c];
    std::memcpy(std::get<TensorView>(outputs[copy.output]).data,
                context.buffers[slots_.first.back() + c], copy.bytes);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    OpaqueValue* opaque = std::get_if<OpaqueValue>(&outputs[i]);
    if (opaque != nullptr) *opaque = context.opaques[plan_.output_values()[i]];
  }
  return absl::OkStatus();
}

absl::Status Instance::RunPart(absl::Span<const TensorView> inputs,
                               absl::Span<RegionValue> outputs, int steps,
                               absl::Span<const ValueCopy> copies) const {
  Borrowed borrowed(*this);
  Context& context = borrowed.context();
  AITUNE_RETURN_IF_ERROR(Patch(inputs, outputs, context));
  AITUNE_RETURN_IF_ERROR(RunSteps(steps, context, nullptr));
  for (const ValueCopy& copy : copies) {
    const Placement place = layout_.placement(copy.value);
    const void* from = nullptr;
    if (place.kind == Placement::Kind::kArena)
      from = context.arena.data() + place.offset;
    for (const BufferSlots::Patch& patch : slots_.lent) {
      if (patch.index == plan_.values()[copy.value].root)
        from = static_cast<const char*>(context.buffers[patch.slot]) -
               patch.offset + place.offset;
    }
    if (const auto* tensor =
            place.kind == Placement::Kind::kOutput
                ? std::get_if<TensorView>(&outputs[place.index])
                : nullptr)
      from = static_cast<const char*>(tensor->data) + place.offset;
    if (from == nullptr)
      return absl::InvalidArgumentError(absl::StrCat(
          "value ", copy.value, " can't be copied: no step writes it"));
    std::memcpy(copy.to.data, from, BytesOf(copy.to));
  }
  return absl::OkStatus();
}

absl::Status Instance::RunStep(int step, Context& context) const {
  const LoadedStep& loaded = steps_[step];
  void* const* const buffers = context.buffers.data() + slots_.first[step];
  if (loaded.kernel != nullptr) {
    ParallelFor(grids_[step], loaded.proto->kernel().grain(),
                [&](int64_t begin, int64_t end) {
                  loaded.kernel(buffers, symbols_.data(), begin, end);
                });
    return absl::OkStatus();
  }
  const ScopedThreadCount scope(threads_);
  if (library_[step] != nullptr) {
    const absl::Status status = library_[step]->Run(
        buffers, context.arena.data() + layout_.scratch_offset(step),
        *context.bindings[step]);
    return status.ok() ? status : InStep(loaded, status);
  }
  return RunRegion(step, context);
}

absl::Status Instance::RunRegion(int step, Context& context) const {
  const LoadedStep& loaded = steps_[step];
  void* const* buffer = context.buffers.data() + slots_.first[step];
  Context::Region& region = context.regions[step];
  auto set = [&](RegionValue& value, int32_t index, bool is_input) {
    if (TensorView* tensor = std::get_if<TensorView>(&value)) {
      tensor->data = *buffer;
    } else {
      value = is_input ? context.opaques[index] : OpaqueValue();
    }
    ++buffer;
  };
  for (size_t i = 0; i < loaded.inputs.size(); ++i) {
    set(region.inputs[i], loaded.inputs[i], true);
  }
  // Whether the caller gave no memory for a value that is an output.
  auto is_given = [&](int32_t value) {
    const int32_t output = plan_.given_output(value);
    return output >= 0 &&
           std::holds_alternative<OpaqueValue>(context.outputs[output]);
  };
  for (size_t i = 0; i < loaded.outputs.size(); ++i) {
    const int32_t value = loaded.outputs[i];
    const bool is_opaque = plan_.values()[value].storage == ValueProto::OPAQUE;
    if (is_given(value))
      region.outputs[i] = OpaqueValue();
    else if (!is_opaque &&
             std::holds_alternative<OpaqueValue>(region.outputs[i]))
      region.outputs[i] = TensorView{nullptr, plan_.values()[value].type.dtype,
                                     layout_.sizes(value)};
    set(region.outputs[i], value, false);
    if (plan_.is_lent(value))
      std::get<TensorView>(region.outputs[i]).data = nullptr;
  }
  absl::Status status = loaded.region->Run(region.inputs, symbols_,
                                           absl::MakeSpan(region.outputs));
  for (RegionValue& value : region.inputs) {
    if (auto* opaque = std::get_if<OpaqueValue>(&value)) opaque->reset();
  }
  if (!status.ok()) return status;
  for (size_t i = 0; i < loaded.outputs.size(); ++i) {
    const int32_t value = loaded.outputs[i];
    OpaqueValue* opaque = std::get_if<OpaqueValue>(&region.outputs[i]);
    const bool is_opaque =
        plan_.values()[value].storage == ValueProto::OPAQUE || is_given(value);
    if ((opaque != nullptr) != is_opaque) {
      return InStep(loaded, absl::InternalError(absl::StrCat(
                                "the fallback region gave ",
                                is_opaque ? "a tensor" : "an opaque value",
                                " as output ", i)));
    }
    if (is_opaque) context.opaques[value] = std::move(*opaque);
    if (plan_.is_lent(value)) {
      for (const BufferSlots::Patch& patch : slots_.lent) {
        if (patch.index == value)
          context.buffers[patch.slot] =
              static_cast<char*>(std::get<TensorView>(region.outputs[i]).data) +
              patch.offset;
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace aitune
