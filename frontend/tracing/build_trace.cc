#include "frontend/tracing/build_trace.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/model_state.h"
#include "frontend/torchscript/prepare.h"
#include "frontend/trace/fallback.h"
#include "frontend/trace/size_region.h"
#include "frontend/trace/structure_internal.h"
#include "frontend/tracing/graph_program.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/region_of_trace.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Kind = ProbedValue::Kind;

// What one attempt at a trace is made for.
struct Attempt {
  std::vector<TraceSymbol> symbols;  // the dynamic ones
  std::vector<std::vector<int>>
      axis_symbols;  // of the flattened tensor inputs; -1: fixed
  std::vector<std::vector<c10::IValue>> inputs;  // one list a probe
};

// Turns the inputs of all probes into values of the interpreter and the
// trace's inputs.
class InputBuilder {
 public:
  InputBuilder(Interpreter& interpreter, const Attempt& attempt)
      : interpreter_(interpreter), attempt_(attempt) {}

  absl::StatusOr<ProbedRef> Build(const std::vector<c10::IValue>& probes,
                                  Structure* structure) {
    const c10::IValue& first = probes[0];
    if (first.isTensor()) return BuildTensor(probes, structure);
    const bool container =
        first.isTuple() || first.isList() || first.isGenericDict();
    if (!container) {
      *structure = ConstantStructure(first);
      return interpreter_.MakePlain(probes);
    }
    auto value = std::make_shared<ProbedValue>();
    value->type_hint = first.type();
    ContainerInfo info;
    info.type = first.type();
    std::vector<std::vector<c10::IValue>> columns;
    for (const c10::IValue& probe : probes) {
      std::vector<c10::IValue>& elements = columns.emplace_back();
      if (probe.isTuple()) elements = probe.toTupleRef().elements().vec();
      if (probe.isList()) elements = probe.toListRef().vec();
      if (!probe.isGenericDict()) continue;
      for (const auto& entry : probe.toGenericDict()) {
        if (columns.size() == 1) info.keys.push_back(entry.key());
        elements.push_back(entry.value());
      }
    }
    value->keys = info.keys;
    std::vector<Structure> children(columns[0].size());
    for (size_t i = 0; i < columns[0].size(); ++i) {
      std::vector<c10::IValue> element;
      for (const std::vector<c10::IValue>& column : columns)
        element.push_back(column.at(i));
      absl::StatusOr<ProbedRef> child = Build(element, &children[i]);
      if (!child.ok()) return child;
      value->elements.push_back(*std::move(child));
    }
    value->kind = first.isTuple()  ? Kind::kTuple
                  : first.isList() ? Kind::kList
                                   : Kind::kDict;
    const Structure::Kind kind = first.isTuple()  ? Structure::Kind::kTuple
                                 : first.isList() ? Structure::Kind::kList
                                                  : Structure::Kind::kDict;
    *structure = ContainerStructure(kind, std::move(children), std::move(info));
    return value;
  }

 private:
  absl::StatusOr<ProbedRef> BuildTensor(const std::vector<c10::IValue>& probes,
                                        Structure* structure) {
    std::vector<c10::IValue> copies;
    for (const c10::IValue& probe : probes) {
      if (!IsPlainTensor(probe.toTensor())) {
        return absl::InvalidArgumentError(
            absl::StrCat("input ", Describe(probe),
                         " is not a dense CPU tensor of a known dtype"));
      }
      // Copy the inputs, since the program may change them.
      copies.emplace_back(probe.toTensor().clone(at::MemoryFormat::Contiguous));
    }
    const at::Tensor& first = probes[0].toTensor();
    TensorType type;
    type.dtype = *FromScalarType(first.scalar_type());
    const size_t index = interpreter_.builder().trace().inputs.size();
    for (int64_t axis = 0; axis < first.dim(); ++axis) {
      const int symbol =
          index < attempt_.axis_symbols.size()
              ? attempt_.axis_symbols[index][static_cast<size_t>(axis)]
              : -1;
      type.sizes.push_back(symbol < 0 ? SizeExpression(first.size(axis))
                                      : SizeExpression::Symbol(symbol));
    }
    ProbedRef tensor =
        interpreter_.MakeInput(std::move(copies), std::move(type));
    interpreter_.builder().trace().inputs.push_back(tensor->id);
    *structure = Structure();
    structure->type_name = "Tensor";
    return tensor;
  }

  Interpreter& interpreter_;
  const Attempt& attempt_;
};

// The program's result as the trace's outputs.
absl::Status BuildOutput(Interpreter& interpreter, const ProbedRef& value,
                         Structure* structure) {
  TraceBuilder& builder = interpreter.builder();
  switch (value->kind) {
    case Kind::kTensor: {
      if (!value->has_type) {
        *structure = ConstantStructure(value->probes[0]);
        return absl::OkStatus();
      }
      AITUNE_ASSIGN_OR_RETURN(ValueId id,
                              interpreter.functionalizer().Read(*value));
      builder.trace().outputs.push_back(id);
      structure->type_name = "Tensor";
      return absl::OkStatus();
    }
    case Kind::kOpaque:
      builder.trace().outputs.push_back(value->id);
      structure->type_name = value->probes[0].type()->annotation_str();
      return absl::OkStatus();
    case Kind::kPlain: {
      AITUNE_ASSIGN_OR_RETURN(ArgumentTemplate recipe,
                              interpreter.ToTemplate(value));
      if (value->uniform) {
        *structure = ConstantStructure(value->probes[0]);
        return absl::OkStatus();
      }
      ResultTemplate result;
      result.value = builder.AddOpaque("it is a size as a number");
      builder.AddRegion(
          "aitune::size", {[](std::vector<c10::IValue>&) {}, nullptr},
          {std::move(recipe)}, {result}, "it gives a size as a number",
          /*has_side_effects=*/false);
      builder.trace().outputs.push_back(result.value);
      structure->type_name = "int";
      return absl::OkStatus();
    }
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict: {
      std::vector<Structure> children(value->elements.size());
      for (size_t i = 0; i < children.size(); ++i) {
        AITUNE_RETURN_IF_ERROR(
            BuildOutput(interpreter, value->elements[i], &children[i]));
      }
      ContainerInfo info;
      info.type = value->type_hint;
      info.keys = value->keys;
      if (value->kind == Kind::kTuple && info.type) {
        const auto tuple = info.type->cast<c10::TupleType>();
        if (!tuple || !tuple->schema()) info.type = nullptr;
      }
      const Structure::Kind kind =
          value->kind == Kind::kList    ? Structure::Kind::kList
          : value->kind == Kind::kTuple ? Structure::Kind::kTuple
                                        : Structure::Kind::kDict;
      *structure =
          ContainerStructure(kind, std::move(children), std::move(info));
      return absl::OkStatus();
    }
    case Kind::kObject:
      return absl::UnimplementedError(
          "the model returns an object of the program's own classes");
  }
  return absl::OkStatus();
}

// Values of forward's arguments in all probes: self, inputs, defaults.
absl::StatusOr<std::vector<ProbedRef>> BuildArguments(
    const Model& model, const PreparedGraph& prepared, const Attempt& attempt,
    Interpreter& interpreter) {
  const size_t given = attempt.inputs[0].size();
  std::vector<torch::jit::Stack> stacks;
  for (const std::vector<c10::IValue>& inputs : attempt.inputs) {
    AITUNE_ASSIGN_OR_RETURN(torch::jit::Stack stack,
                            model.impl().MakeStack(ValueList(inputs)));
    stacks.push_back(std::move(stack));
  }
  Trace& trace = interpreter.builder().trace();
  trace.input_structure.kind = Structure::Kind::kTuple;
  trace.input_structure.constant = std::make_shared<ContainerInfo>();
  std::vector<ProbedRef> arguments = {
      interpreter.MakeModelConstant(prepared.module._ivalue(), "")};
  InputBuilder builder(interpreter, attempt);
  for (size_t i = 1; i < stacks[0].size(); ++i) {
    std::vector<c10::IValue> probes;
    for (const torch::jit::Stack& stack : stacks) probes.push_back(stack[i]);
    if (i > given) {
      arguments.push_back(interpreter.MakeModelConstant(probes[0], ""));
      continue;
    }
    AITUNE_ASSIGN_OR_RETURN(
        ProbedRef argument,
        builder.Build(probes, &trace.input_structure.children.emplace_back()));
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

Trace Finish(TraceBuilder& builder, const Attempt& attempt,
             std::vector<std::string> notes) {
  auto [trace, ops] = builder.Finish();
  trace.symbols = attempt.symbols;
  trace.notes = std::move(notes);
  auto recorded = std::make_shared<RecordedTrace>();
  recorded->ops = std::move(ops);
  for (const TraceOp& op : trace.ops)
    recorded->schemas.emplace_back(op.name, op.overload);
  recorded->values = trace.values;
  recorded->constants = trace.constants;
  trace.fallback_device = std::make_shared<Device>();
  trace.make_fallback_region = [recorded, device = trace.fallback_device](
                                   const std::vector<int>& op_indices,
                                   const std::vector<ValueId>& inputs,
                                   const std::vector<ValueId>& outputs) {
    return MakeFallbackRegion(recorded, op_indices, inputs, outputs, *device);
  };
  return std::move(trace);
}

std::string DescribeInputs(const Attempt& attempt) {
  return ValueList(attempt.inputs[0]).Describe();
}

// The program as it is, on the model's own attributes. A frozen module has
// attributes of its own, whose state would not be the model's.
PreparedGraph AsItIs(const Model& model) {
  PreparedGraph graph;
  graph.module = model.impl().module;
  graph.graph = graph.module.get_method("forward").graph()->copy();
  torch::jit::Inline(*graph.graph);
  return graph;
}

// The whole model as one operator that LibTorch runs.
absl::StatusOr<Trace> TraceWhole(
    const Model& model, const PreparedGraph& frozen, const Attempt& attempt,
    const SizeFitter& fitter, SizeRegion& region, const TraceOptions& options,
    const std::string& reason, std::vector<std::string> notes) {
  const PreparedGraph prepared =
      ModelState(model).exists() ? AsItIs(model) : frozen;
  LongLoops long_loops;
  Interpreter interpreter(prepared.graph, &fitter, &region, options,
                          &long_loops);
  AITUNE_ASSIGN_OR_RETURN(
      std::vector<ProbedRef> arguments,
      BuildArguments(model, prepared, attempt, interpreter));
  std::vector<ArgumentTemplate> recipes;
  for (const ProbedRef& argument : arguments) {
    AITUNE_ASSIGN_OR_RETURN(ArgumentTemplate recipe,
                            interpreter.ToTemplate(argument));
    recipes.push_back(std::move(recipe));
  }
  TraceBuilder& builder = interpreter.builder();
  ResultTemplate result;
  result.value = builder.AddOpaque(reason);
  builder.AddRegion("aitune::model",
                    MakeGraphProgram(prepared.graph, "forward"),
                    std::move(recipes), {result}, reason,
                    /*has_side_effects=*/true);
  builder.trace().outputs.push_back(result.value);
  builder.trace().output_structure.type_name =
      prepared.graph->outputs()[0]->type()->annotation_str();
  notes.push_back(absl::StrCat("LibTorch runs the whole model: ", reason));
  return Finish(builder, attempt, std::move(notes));
}

// `state`: of the modules before the call, then after it.
absl::StatusOr<Trace> TraceCall(
    const Model& model, const PreparedGraph& prepared, const Attempt& attempt,
    const SizeFitter& fitter, SizeRegion& region, const TraceOptions& options,
    std::vector<std::string> notes, ModuleState& state, LongLoops& long_loops) {
  const SizeRegion whole_region = region;
  const size_t long_before = long_loops.size();
  Interpreter interpreter(prepared.graph, &fitter, &region, options,
                          &long_loops);
  interpreter.set_state(state);
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
  if (long_loops.size() > long_before) {
    region = whole_region;
    return TraceCall(model, prepared, attempt, fitter, region, options,
                     std::move(notes), state, long_loops);
  }
  if (!status.ok()) return status;
  notes.insert(notes.end(), interpreter.notes().begin(),
               interpreter.notes().end());
  state = interpreter.StateAfter();
  return Finish(interpreter.builder(), attempt, std::move(notes));
}

// A trace of any call: one that sets attributes is followed by a second, which
// must find and compute the same as the first.
absl::StatusOr<Trace> TraceOnce(const Model& model,
                                const PreparedGraph& prepared,
                                const Attempt& attempt,
                                const SizeFitter& fitter, SizeRegion& region,
                                const TraceOptions& options,
                                const std::vector<std::string>& notes) {
  ModuleState state;
  LongLoops long_loops;
  absl::StatusOr<Trace> first =
      TraceCall(model, prepared, attempt, fitter, region, options, notes, state,
                long_loops);
  if (!first.ok()) return first;
  const std::string changed = ChangedAttribute({}, state);
  if (changed.empty()) return first;
  ModuleState after = state;
  absl::StatusOr<Trace> second =
      TraceCall(model, prepared, attempt, fitter, region, options, notes, after,
                long_loops);
  if (second.ok() && ChangedAttribute(state, after).empty() &&
      ComputeTheSame(*first, *second))
    return first;
  if (absl::IsOutOfRange(second.status())) return second;
  return absl::UnimplementedError(
      absl::StrCat("what the model computes depends on its attribute ", changed,
                   ", which it changes"));
}

// Integers that the program names: sizes at which it may do something else.
void CollectIntegers(torch::jit::Block* block, SizeRegion& region) {
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks())
      CollectIntegers(inner, region);
    if (node->kind() != c10::prim::Constant) continue;
    const std::optional<c10::IValue> value =
        torch::jit::toIValue(node->output());
    if (value && value->isInt() && value->toInt() > 1 &&
        value->toInt() < INT32_MAX)
      region.AddCriticalSize(value->toInt());
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
                                  SizeRegion& region) {
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
  for (;;) {
    RegionOfTrace of_trace(&region, assignment);
    CollectIntegers(prepared.graph->block(), of_trace.region());
    const SizeFitter fitter(of_trace.region(), ChooseProbes(of_trace.region()));
    Attempt attempt;
    absl::Status status = prepare(of_trace, fitter, attempt);
    if (!status.ok()) return status;
    absl::StatusOr<Trace> trace = TraceOnce(model, prepared, attempt, fitter,
                                            of_trace.region(), options, notes);
    of_trace.Merge();
    if (trace.ok()) {
      trace->symbols = of_trace.Symbols();
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
                          std::string(trace.status().message()), notes);
      }
      default:
        break;
    }
    // A size of 1 may be the only trouble: it broadcasts.
    if (fitter.probes().size() > 1 &&
        region.ExcludeOnes(std::string(trace.status().message())))
      continue;
    return absl::Status(trace.status().code(),
                        absl::StrCat(trace.status().message(), " (with inputs ",
                                     DescribeInputs(attempt), ")"));
  }
}

}  // namespace

absl::StatusOr<Trace> BuildTrace(const Model& model,
                                 absl::Span<const InputSpec> specs,
                                 const TraceOptions& options) {
  AITUNE_ASSIGN_OR_RETURN(SymbolAssignment assignment, AssignSymbols(specs));
  std::vector<std::string> notes;
  AITUNE_ASSIGN_OR_RETURN(
      PreparedGraph prepared,
      PrepareGraph(model.impl().module, model.impl().changes, notes));

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
  absl::Status first_error;
  for (const SizePoint& anchor : anchors) {
    SizeRegion region(ranges, anchor);
    absl::StatusOr<Trace> trace =
        TraceRegion(model, specs, assignment, prepared, options, notes, region);
    if (trace.ok() && !first_error.ok())
      trace->notes.push_back(absl::StrCat("the model refuses larger sizes: ",
                                          first_error.message()));
    if (trace.ok() || !absl::IsInvalidArgument(trace.status())) return trace;
    if (first_error.ok()) first_error = trace.status();
  }
  return first_error;
}

absl::StatusOr<Trace> BuildTrace(const Model& model, const ValueList& samples,
                                 const TraceOptions& options) {
  std::vector<std::string> notes;
  AITUNE_ASSIGN_OR_RETURN(
      PreparedGraph prepared,
      PrepareGraph(model.impl().module, model.impl().changes, notes));
  SizeRegion region({}, {});
  const SizeFitter fitter(region, ChooseProbes(region));
  Attempt attempt;
  attempt.inputs = {samples.values()};
  absl::StatusOr<Trace> trace =
      TraceOnce(model, prepared, attempt, fitter, region, options, notes);
  const absl::Status& status = trace.status();
  if (status.ok()) return trace;
  if (status.code() == absl::StatusCode::kUnimplemented ||
      status.code() == absl::StatusCode::kOutOfRange) {
    return TraceWhole(model, prepared, attempt, fitter, region, options,
                      std::string(status.message()), notes);
  }
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), " (with inputs ",
                                   DescribeInputs(attempt), ")"));
}

}  // namespace aitune::frontend
