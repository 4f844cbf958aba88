#include "frontend/tracing/build_trace.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torchscript/autocast_contexts.h"
#include "frontend/torchscript/gradients.h"
#include "frontend/torchscript/inline_calls.h"
#include "frontend/torchscript/input_queries.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/model_state.h"
#include "frontend/torchscript/prepare.h"
#include "frontend/torchscript/run_limits.h"
#include "frontend/trace/fallback.h"
#include "frontend/trace/outlined_program.h"
#include "frontend/trace/size_region.h"
#include "frontend/tracing/graph_program.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/tracing/outlining.h"
#include "frontend/tracing/probe_program.h"
#include "frontend/tracing/region_of_trace.h"
#include "frontend/tracing/trace_interface.h"
#include "frontend/tracing/untaken_branches.h"
#include "frontend/values/random_numbers.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// Empties the operators that are not `kept`, and constants that none of these
// reads.
void KeepOnly(const std::vector<int>& kept, RecordedTrace& trace) {
  std::vector<bool> is_kept(trace.ops.size());
  std::vector<bool> is_read(trace.constants.size());
  std::vector<ValueId> read;
  for (const int op : kept) {
    is_kept[static_cast<size_t>(op)] = true;
    for (const ArgumentTemplate& argument :
         trace.ops[static_cast<size_t>(op)].arguments)
      CollectValues(argument, read);
  }
  for (const ValueId id : read) {
    if (id < 0) continue;
    const TraceValue& value = trace.values[static_cast<size_t>(id)];
    if (value.kind == TraceValue::Kind::kConstant)
      is_read[static_cast<size_t>(value.constant)] = true;
  }
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    if (!is_kept[i]) trace.ops[i] = RecordedOp();
  }
  for (size_t i = 0; i < trace.constants.size(); ++i) {
    if (!is_read[i]) trace.constants[i] = ConstantTensor();
  }
}

Trace Finish(TraceBuilder& builder, const Attempt& attempt,
             std::vector<std::string> notes) {
  auto [trace, ops] = builder.Finish();
  trace.symbols = attempt.symbols;
  trace.notes = std::move(notes);
  for (const std::shared_ptr<OutlinedProgram>& program : trace.outlined)
    program->StopRecording();
  auto recorded = std::make_shared<RecordedTrace>();
  recorded->ops = std::move(ops);
  for (const TraceOp& op : trace.ops)
    recorded->schemas.emplace_back(op.name, op.overload);
  recorded->values = trace.values;
  recorded->constants = trace.constants;
  trace.region_place = std::make_shared<RegionPlace>();
  trace.make_fallback_region = [recorded, place = trace.region_place](
                                   const std::vector<int>& op_indices,
                                   const std::vector<ValueId>& inputs,
                                   const std::vector<ValueId>& outputs) {
    return MakeFallbackRegion(recorded, op_indices, inputs, outputs, *place);
  };
  trace.keep_only = [recorded](const std::vector<int>& op_indices) {
    KeepOnly(op_indices, *recorded);
  };
  return std::move(trace);
}

// The error of a trace, with the inputs that it was for.
absl::Status WithInputs(const absl::Status& error, const ValueList& inputs) {
  return absl::Status(
      error.code(),
      absl::StrCat(error.message(), " (with inputs ", inputs.Describe(), ")"));
}

absl::StatusOr<PreparedGraph> Prepare(const Model& model,
                                      const TraceOptions& options,
                                      std::vector<std::string>& notes) {
  AITUNE_ASSIGN_OR_RETURN(
      PreparedGraph prepared,
      PrepareGraph(model.impl().module(), model.impl().changes, options.for_gpu,
                   notes));
  prepared.own_arguments = FindInputQueries(model).own_arguments;
  return prepared;
}

// The program as it is, on the model's own attributes. A frozen module has
// attributes of its own, whose state would not be the model's.
PreparedGraph AsItIs(const Model& model) {
  PreparedGraph graph;
  graph.module = model.impl().module();
  graph.graph = graph.module.get_method("forward").graph()->copy();
  InlineCalls(*graph.graph);
  MakeCastsOfContexts(graph.graph);
  return graph;
}

// Runs the model on the inputs of each probe, so that what is outlined of it is
// seen with inputs. A model with state has several calls in a row: what it does
// with a cache is first done by the second one, and other sizes of the cache
// than one show what depends on them. The state is `saved`, and put back. What
// it raises is seen elsewhere.
void RunProbes(const Model& model, const PreparedGraph& prepared,
               const Attempt& attempt, const RecordedFunction& run,
               const ModelState& saved) {
  constexpr int kCallsInARow = 3;
  for (const std::vector<c10::IValue>& inputs : attempt.inputs) {
    for (int call = 0; call < (saved.exists() ? kCallsInARow : 1); ++call) {
      CatchExceptions(absl::StatusCode::kInternal, "", [&]() -> absl::Status {
        const c10::InferenceMode inference;
        AITUNE_ASSIGN_OR_RETURN(
            torch::jit::Stack stack,
            model.impl().MakeStack(ValueList(inputs).Clone()));
        stack[0] = prepared.module._ivalue();
        run(stack);
        return absl::OkStatus();
      }).IgnoreError();
    }
    if (saved.HasChanged()) saved.Restore();
  }
}

// The whole model as one operator that LibTorch runs, with what can be compiled
// of it outlined.
absl::StatusOr<Trace> TraceWhole(
    const Model& model, const PreparedGraph& frozen, const Attempt& attempt,
    const SizeFitter& fitter, SizeRegion& region, const TraceOptions& options,
    const std::string& reason, std::vector<std::string> notes,
    const ModelState& saved) {
  const bool takes_gradients = TakesGradients(*frozen.graph);
  // Nor have frozen parameters gradients.
  const PreparedGraph prepared =
      saved.exists() || takes_gradients ? AsItIs(model) : frozen;
  TraceFindings findings;
  Interpreter interpreter(prepared.graph, &fitter, &region, options, &findings);
  AITUNE_ASSIGN_OR_RETURN(
      std::vector<ProbedRef> arguments,
      BuildArguments(model, prepared, attempt, interpreter));
  AITUNE_ASSIGN_OR_RETURN(std::vector<ArgumentTemplate> recipes,
                          interpreter.ToTemplates(arguments));
  TraceBuilder& builder = interpreter.builder();
  ResultTemplate result;
  result.value = builder.AddOpaque(reason);
  OutlinedGraph outlined{prepared.graph, {}};
  if (options.outlines && !takes_gradients && frozen.own_arguments.empty())
    outlined = OutlineForward(prepared.graph, prepared.module, options.for_gpu);
  RecordedProgram program = MakeGraphProgram(outlined.graph, "forward");
  if (!outlined.programs.empty() && options.sees_parts) {
    const auto run = [&](const std::shared_ptr<torch::jit::Graph>& graph) {
      RunProbes(model, prepared, attempt,
                MakeGraphProgram(graph, "probe of forward").run, saved);
    };
    {
      const RunLimits limits(kSecondsOfProbe, /*limits_sizes=*/false);
      run(WithLimits(outlined.graph));
    }
    SeeUntakenBranches(outlined.graph, outlined.programs, run);
  }
  builder.trace().outlined = std::move(outlined.programs);
  builder.AddRegion(kWholeModel, std::move(program), std::move(recipes),
                    {result}, reason, /*has_side_effects=*/true);
  builder.trace().outputs.push_back(result.value);
  builder.trace().output_structure.type_name =
      prepared.graph->outputs()[0]->type()->annotation_str();
  notes.push_back(absl::StrCat("LibTorch runs the whole model: ", reason));
  return Finish(builder, attempt, std::move(notes));
}

// TracedStorage::overwritten of all tensors together.
size_t CountOverwritten(const TraceFindings& findings) {
  size_t count = 0;
  for (const auto& [tensor, versions] : findings.overwritten_reads)
    count += versions.size();
  for (const auto& [input, versions] : findings.overwritten_inputs)
    count += versions.size();
  return count;
}

// `state`: of the modules before the call, then after it.
absl::StatusOr<Trace> TraceCall(
    const Model& model, const PreparedGraph& prepared, const Attempt& attempt,
    const SizeFitter& fitter, SizeRegion& region, const TraceOptions& options,
    std::vector<std::string> notes, const ModelState& saved, ModuleState& state,
    TraceFindings& findings) {
  const SizeRegion whole_region = region;
  const size_t whole_before = findings.whole_loops.size();
  const size_t written_before = findings.written_inputs.size();
  const size_t overwritten_before = CountOverwritten(findings);
  Interpreter interpreter(prepared.graph, &fitter, &region, options, &findings);
  interpreter.set_state(state);
  interpreter.set_live_state(saved.live(), saved.WhyNotLive());
  absl::Status status =
      CatchExceptions(absl::StatusCode::kUnimplemented, "", [&] {
        const c10::InferenceMode inference;
        AITUNE_ASSIGN_OR_RETURN(
            std::vector<ProbedRef> arguments,
            BuildArguments(model, prepared, attempt, interpreter));
        AITUNE_ASSIGN_OR_RETURN(ProbedRef result, interpreter.Run(arguments));
        return BuildOutput(interpreter, result,
                           &interpreter.builder().trace().output_structure);
      });
  if (findings.whole_loops.size() > whole_before ||
      findings.written_inputs.size() > written_before ||
      (status.ok() && CountOverwritten(findings) > overwritten_before)) {
    region = whole_region;
    return TraceCall(model, prepared, attempt, fitter, region, options,
                     std::move(notes), saved, state, findings);
  }
  if (!status.ok()) return status;
  notes.insert(notes.end(), interpreter.notes().begin(),
               interpreter.notes().end());
  state = interpreter.StateAfter();
  interpreter.builder().trace().written_inputs.assign(
      findings.written_inputs.begin(), findings.written_inputs.end());
  return Finish(interpreter.builder(), attempt, std::move(notes));
}

// A trace of any call. One that sets attributes is followed by a second, which
// must find and compute the same as the first, and no call may read what they
// were before: the compiled one does not set them.
absl::StatusOr<Trace> TraceAnyCall(
    const Model& model, const PreparedGraph& prepared, const Attempt& attempt,
    const SizeFitter& fitter, SizeRegion& region, const TraceOptions& options,
    const std::vector<std::string>& notes, const ModelState& saved) {
  ModuleState state;
  TraceFindings findings;
  AITUNE_ASSIGN_OR_RETURN(
      Trace first, TraceCall(model, prepared, attempt, fitter, region, options,
                             notes, saved, state, findings));
  const std::set<std::string> changed = ChangedAttributes({}, state);
  if (changed.empty()) return first;
  const auto depends = [](const std::string& name) {
    return absl::UnimplementedError(
        absl::StrCat("what the model computes depends on its attribute ", name,
                     ", which it changes"));
  };
  for (const std::string& name : changed) {
    if (MayReadBefore(*prepared.graph, name, changed)) return depends(name);
  }
  ModuleState after = state;
  absl::StatusOr<Trace> second =
      TraceCall(model, prepared, attempt, fitter, region, options, notes, saved,
                after, findings);
  if (second.ok() && ChangedAttributes(state, after).empty() &&
      ComputeTheSame(first, *second))
    return first;
  if (absl::IsOutOfRange(second.status())) return second;
  return depends(*changed.begin());
}

// As TraceAnyCall. Tracing writes copies of the model's tensors; where it has
// written one itself, the trace is not to be believed, and `saved`, the state
// before, is put back.
absl::StatusOr<Trace> TraceOnce(
    const Model& model, const PreparedGraph& prepared, const Attempt& attempt,
    const SizeFitter& fitter, SizeRegion& region, const TraceOptions& options,
    const std::vector<std::string>& notes, const ModelState& saved) {
  if (TakesGradients(*prepared.graph))
    return absl::UnimplementedError(
        "it takes gradients (torch.autograd), for which LibTorch must record "
        "what it does");
  if (!prepared.own_arguments.empty())
    return absl::UnimplementedError(prepared.own_arguments);
  absl::StatusOr<Trace> trace = TraceAnyCall(model, prepared, attempt, fitter,
                                             region, options, notes, saved);
  if (saved.HasChanged()) {
    saved.Restore();
    return absl::UnimplementedError(
        "the model's own tensors, lists or dicts are written in a way that "
        "isn't followed");
  }
  return trace;
}

// The traces of a region whose probes are as small as it allows.
constexpr int kNearAttempts = 3;

absl::Status SaveState(const Model& model, std::optional<ModelState>& saved) {
  return CatchExceptions(absl::StatusCode::kInternal, "the model's state", [&] {
    saved.emplace(model);
    saved->Save();
    return absl::OkStatus();
  });
}

// The integers of a constant of the program, which may be a short tensor, as
// tracing makes of torch.tensor(77).
std::vector<int64_t> IntegersOf(const c10::IValue& value) {
  constexpr int64_t kMostIntegers = 16;
  if (value.isInt()) return {value.toInt()};
  if (value.isIntList()) return value.toIntVector();
  std::vector<int64_t> integers;
  if (!value.isTensor() || !value.toTensor().defined()) return integers;
  const at::Tensor& tensor = value.toTensor();
  if (!at::isIntegralType(tensor.scalar_type(), /*includeBool=*/false) ||
      tensor.numel() > kMostIntegers || !tensor.is_cpu())
    return integers;
  const at::Tensor flat = tensor.to(at::kLong).flatten();
  for (int64_t i = 0; i < flat.numel(); ++i)
    integers.push_back(flat[i].item<int64_t>());
  return integers;
}

// Integers that the program names: sizes at which it may do something else.
void CollectIntegers(torch::jit::Block* block, SizeRegion& region) {
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks())
      CollectIntegers(inner, region);
    if (node->kind() != c10::prim::Constant) continue;
    const std::optional<c10::IValue> value =
        torch::jit::toIValue(node->output());
    if (!value) continue;
    for (const int64_t number : IntegersOf(*value)) {
      if (number > 1 && number < INT32_MAX) region.AddCriticalSize(number);
    }
  }
}

// Traces the model for a part of `region` around its anchor, and restricts
// `region` to that part.
absl::StatusOr<Trace> TraceRegion(const Model& model,
                                  absl::Span<const InputSpec> specs,
                                  const SymbolAssignment& assignment,
                                  const PreparedGraph& prepared,
                                  const TraceOptions& options,
                                  const std::vector<std::string>& notes,
                                  const ModelState& saved, SizeRegion& region) {
  const SizeRegion whole_region = region;
  const auto prepare = [&](const RegionOfTrace& of_trace,
                           const SizeFitter& fitter,
                           Attempt& attempt) -> absl::Status {
    attempt.symbols = of_trace.Symbols();
    for (const std::vector<int>& axes : assignment.of)
      attempt.axis_symbols.push_back(of_trace.Numbers(axes));
    for (const SizePoint& probe : fitter.probes()) {
      AITUNE_ASSIGN_OR_RETURN(
          ValueList inputs,
          MakeInputs(specs, of_trace.Whole(probe), options.seed));
      attempt.inputs.push_back(inputs.values());
    }
    return absl::OkStatus();
  };
  for (int attempts = 0;; ++attempts) {
    RegionOfTrace of_trace(&region, assignment);
    CollectIntegers(prepared.graph->block(), of_trace.region());
    // A loop over elements by their numbers asks for one more each time.
    const int64_t lead =
        attempts < kNearAttempts ? 0 : int64_t{1} << std::min(attempts, 40);
    const SizeFitter fitter(of_trace.region(),
                            ChooseProbes(of_trace.region(), lead));
    Attempt attempt;
    absl::Status status = prepare(of_trace, fitter, attempt);
    if (!status.ok()) return status;
    absl::StatusOr<Trace> trace =
        TraceOnce(model, prepared, attempt, fitter, of_trace.region(), options,
                  notes, saved);
    of_trace.Merge();
    if (trace.ok()) {
      trace->symbols = of_trace.Symbols();
      // A GPU's kernels are chosen by size, from the largest down.
      if (options.for_gpu) {
        for (TraceSymbol& symbol : trace->symbols) symbol.typical = 0;
      }
      // What came down to one size on the way is no symbol.
      if (std::any_of(trace->symbols.begin(), trace->symbols.end(),
                      [](const TraceSymbol& s) { return s.min == s.max; }))
        continue;
      trace->constraints = of_trace.region().constraints();
      DescribeRegion(region, assignment.symbols, *trace);
      return trace;
    }
    switch (trace.status().code()) {
      case absl::StatusCode::kOutOfRange:
        continue;
      case absl::StatusCode::kUnimplemented: {
        // LibTorch takes all sizes as they come.
        SizeRegion all = whole_region;
        RegionOfTrace of_all(&all, assignment);
        const SizeFitter few(of_all.region(), ChooseProbes(of_all.region()));
        Attempt whole;
        status = prepare(of_all, few, whole);
        if (!status.ok()) return status;
        return TraceWhole(model, prepared, whole, few, of_all.region(), options,
                          std::string(trace.status().message()), notes, saved);
      }
      default:
        break;
    }
    // A size of 1 may be the only trouble: it broadcasts.
    if (fitter.probes().size() > 1 &&
        region.ExcludeOnes(std::string(trace.status().message())))
      continue;
    // Probes may be of other sizes than those that are asked for.
    const absl::StatusOr<ValueList> asked = MakeInputs(
        specs, of_trace.Whole(of_trace.region().anchor()), options.seed);
    return asked.ok() ? WithInputs(trace.status(), *asked) : trace.status();
  }
}

}  // namespace

absl::StatusOr<Trace> BuildTrace(const Model& model,
                                 absl::Span<const InputSpec> specs,
                                 const TraceOptions& options) {
  // What the program asks of the mode is answered as in a call.
  const c10::NoGradGuard no_grad;
  AITUNE_ASSIGN_OR_RETURN(SymbolAssignment assignment, AssignSymbols(specs));
  AITUNE_RETURN_IF_ERROR(model.MakeWeights());
  std::vector<std::string> notes;
  AITUNE_ASSIGN_OR_RETURN(const PreparedGraph prepared,
                          Prepare(model, options, notes));

  std::vector<SymbolRange> ranges;
  for (const SymbolSpec& symbol : assignment.symbols)
    ranges.push_back({symbol.min, symbol.max});
  std::vector<SizePoint> anchors = Anchors(assignment.symbols);
  if (!options.anchor.empty()) {
    anchors = {options.anchor};
    if (options.anchor.size() != ranges.size() ||
        !SizeRegion(ranges, options.anchor).Contains(options.anchor))
      return absl::InvalidArgumentError(
          absl::StrCat("the sizes ", absl::StrJoin(options.anchor, ", "),
                       " are not in the ranges of the inputs"));
  }
  const bool draws = DrawsRandomNumbers(*prepared.graph->block());
  std::optional<ScopedRandomNumbers> random;
  // A seeded program draws the same in a call that compiles as in others.
  if (draws) random.emplace(Device());
  std::optional<ModelState> saved;
  AITUNE_RETURN_IF_ERROR(SaveState(model, saved));
  absl::Status first_error;
  for (const SizePoint& anchor : anchors) {
    SizeRegion region(ranges, anchor);
    absl::StatusOr<Trace> trace = TraceRegion(
        model, specs, assignment, prepared, options, notes, *saved, region);
    if (trace.ok() && !first_error.ok())
      trace->notes.push_back(absl::StrCat("the model refuses larger sizes: ",
                                          first_error.message()));
    if (trace.ok()) {
      trace->draws_random_numbers = draws;
      trace->libtorch_only = options.libtorch_only;
    }
    if (trace.ok() || !absl::IsInvalidArgument(trace.status())) return trace;
    if (first_error.ok()) first_error = trace.status();
  }
  return first_error;
}

absl::StatusOr<Trace> BuildTrace(const Model& model, const ValueList& samples,
                                 const TraceOptions& options) {
  const c10::NoGradGuard no_grad;
  AITUNE_RETURN_IF_ERROR(model.MakeWeights());
  std::vector<std::string> notes;
  AITUNE_ASSIGN_OR_RETURN(const PreparedGraph prepared,
                          Prepare(model, options, notes));
  SizeRegion region({}, {});
  const SizeFitter fitter(region, ChooseProbes(region));
  Attempt attempt;
  attempt.inputs = {samples.values()};
  const bool draws = DrawsRandomNumbers(*prepared.graph->block());
  std::optional<ScopedRandomNumbers> random;
  // A seeded program draws the same in a call that compiles as in others.
  if (draws) random.emplace(Device());
  std::optional<ModelState> saved;
  AITUNE_RETURN_IF_ERROR(SaveState(model, saved));
  absl::StatusOr<Trace> trace = TraceOnce(model, prepared, attempt, fitter,
                                          region, options, notes, *saved);
  const absl::Status status = trace.status();
  if (status.code() == absl::StatusCode::kUnimplemented ||
      status.code() == absl::StatusCode::kOutOfRange) {
    trace = TraceWhole(model, prepared, attempt, fitter, region, options,
                       std::string(status.message()), notes, *saved);
    if (!trace.ok()) return trace;
  }
  if (trace.ok()) {
    trace->draws_random_numbers = draws;
    trace->libtorch_only = options.libtorch_only;
    return trace;
  }
  return WithInputs(status, samples);
}

}  // namespace aitune::frontend
