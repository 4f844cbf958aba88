#include "frontend/torchscript/build_trace.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torchscript/fallback.h"
#include "frontend/torchscript/interpreter.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/model_state.h"
#include "frontend/torchscript/prepare.h"
#include "frontend/torchscript/structure_internal.h"
#include "frontend/torchscript/torch_util.h"

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
      // The program may change what it is given.
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
      absl::StatusOr<ValueId> id = interpreter.functionalizer().Read(*value);
      if (!id.ok()) return id.status();
      builder.trace().outputs.push_back(*id);
      structure->type_name = "Tensor";
      return absl::OkStatus();
    }
    case Kind::kOpaque:
      builder.trace().outputs.push_back(value->id);
      structure->type_name = value->probes[0].type()->annotation_str();
      return absl::OkStatus();
    case Kind::kPlain: {
      if (value->uniform) {
        *structure = ConstantStructure(value->probes[0]);
        return absl::OkStatus();
      }
      absl::StatusOr<ArgumentTemplate> recipe = interpreter.ToTemplate(value);
      if (!recipe.ok()) return recipe.status();
      ResultTemplate result;
      result.value = builder.AddOpaque("it is a size as a number");
      builder.AddRegion(
          "aitune::size", [](std::vector<c10::IValue>&) {},
          {*std::move(recipe)}, {result}, "it gives a size as a number",
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
        absl::Status status =
            BuildOutput(interpreter, value->elements[i], &children[i]);
        if (!status.ok()) return status;
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
    absl::StatusOr<torch::jit::Stack> stack =
        model.impl().MakeStack(ValueList(inputs));
    if (!stack.ok()) return stack.status();
    stacks.push_back(*std::move(stack));
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
    absl::StatusOr<ProbedRef> argument =
        builder.Build(probes, &trace.input_structure.children.emplace_back());
    if (!argument.ok()) return argument.status();
    arguments.push_back(*std::move(argument));
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
  recorded->values = trace.values;
  recorded->constants = trace.constants;
  trace.fallback_gpu = std::make_shared<int>(-1);
  trace.make_fallback_region = [recorded, gpu = trace.fallback_gpu](
                                   const std::vector<int>& op_indices,
                                   const std::vector<ValueId>& inputs,
                                   const std::vector<ValueId>& outputs) {
    return MakeFallbackRegion(recorded, op_indices, inputs, outputs, *gpu);
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
    const SizeFitter& fitter, const TraceOptions& options,
    const std::string& reason, std::vector<std::string> notes) {
  const PreparedGraph prepared =
      ModelState(model).exists() ? AsItIs(model) : frozen;
  Interpreter interpreter(prepared.graph, &fitter, options);
  absl::StatusOr<std::vector<ProbedRef>> arguments =
      BuildArguments(model, prepared, attempt, interpreter);
  if (!arguments.ok()) return arguments.status();
  std::vector<ArgumentTemplate> recipes;
  for (const ProbedRef& argument : *arguments) {
    absl::StatusOr<ArgumentTemplate> recipe = interpreter.ToTemplate(argument);
    if (!recipe.ok()) return recipe.status();
    recipes.push_back(*std::move(recipe));
  }
  auto code = std::make_shared<torch::jit::Code>(prepared.graph, "forward");
  const RecordedFunction run = [code](std::vector<c10::IValue>& stack) {
    torch::jit::InterpreterState(*code).run(stack);
  };
  TraceBuilder& builder = interpreter.builder();
  ResultTemplate result;
  result.value = builder.AddOpaque(reason);
  builder.AddRegion("aitune::model", run, std::move(recipes), {result}, reason,
                    /*has_side_effects=*/true);
  builder.trace().outputs.push_back(result.value);
  builder.trace().output_structure.type_name =
      prepared.graph->outputs()[0]->type()->annotation_str();
  notes.push_back(absl::StrCat("LibTorch runs the whole model: ", reason));
  return Finish(builder, attempt, std::move(notes));
}

struct Outcome {
  absl::StatusOr<Trace> trace;
  std::vector<int> divergent;  // symbols, when the status is kOutOfRange
};

// `state`: of the modules before the call, then after it.
Outcome TraceCall(const Model& model, const PreparedGraph& prepared,
                  const Attempt& attempt, const SizeFitter& fitter,
                  const TraceOptions& options, std::vector<std::string> notes,
                  ModuleState& state) {
  Interpreter interpreter(prepared.graph, &fitter, options);
  interpreter.set_state(state);
  absl::Status status =
      CatchExceptions(absl::StatusCode::kUnimplemented, "", [&] {
        const c10::InferenceMode inference;
        absl::StatusOr<std::vector<ProbedRef>> arguments =
            BuildArguments(model, prepared, attempt, interpreter);
        if (!arguments.ok()) return arguments.status();
        absl::StatusOr<ProbedRef> result = interpreter.Run(*arguments);
        if (!result.ok()) return result.status();
        return BuildOutput(interpreter, *result,
                           &interpreter.builder().trace().output_structure);
      });
  if (!status.ok()) return {status, interpreter.divergent_symbols()};
  notes.insert(notes.end(), interpreter.notes().begin(),
               interpreter.notes().end());
  state = interpreter.StateAfter();
  return {Finish(interpreter.builder(), attempt, std::move(notes)), {}};
}

// A trace of any call: one that sets attributes is followed by a second, which
// must find and compute the same as the first.
Outcome TraceOnce(const Model& model, const PreparedGraph& prepared,
                  const Attempt& attempt, const SizeFitter& fitter,
                  const TraceOptions& options,
                  const std::vector<std::string>& notes) {
  ModuleState state;
  Outcome first =
      TraceCall(model, prepared, attempt, fitter, options, notes, state);
  if (!first.trace.ok()) return first;
  const std::string changed = ChangedAttribute({}, state);
  if (changed.empty()) return first;
  ModuleState after = state;
  Outcome second =
      TraceCall(model, prepared, attempt, fitter, options, notes, after);
  if (second.trace.ok() && ChangedAttribute(state, after).empty() &&
      ComputeTheSame(*first.trace, *second.trace))
    return first;
  return {absl::UnimplementedError(
              absl::StrCat("what the model computes depends on its attribute ",
                           changed, ", which it changes")),
          {}};
}

}  // namespace

absl::StatusOr<Trace> BuildTrace(const Model& model,
                                 absl::Span<const InputSpec> specs,
                                 const TraceOptions& options) {
  absl::StatusOr<SymbolAssignment> assignment = AssignSymbols(specs);
  if (!assignment.ok()) return assignment.status();
  std::vector<std::string> notes;
  absl::StatusOr<PreparedGraph> prepared =
      PrepareGraph(model.impl().module, model.impl().changes, notes);
  if (!prepared.ok()) return prepared.status();

  const std::vector<SymbolSpec>& all = assignment->symbols;
  std::vector<bool> fixed(all.size(), false);
  bool include_ones =
      std::any_of(all.begin(), all.end(),
                  [](const SymbolSpec& s) { return s.min <= 1 && s.max > 1; });
  bool exclude_ones = false;
  std::string ones_reason;
  for (;;) {
    // The symbols that are still dynamic, numbered anew.
    Attempt attempt;
    std::vector<SymbolRange> ranges;
    std::vector<int> number(all.size(), -1);
    for (size_t s = 0; s < all.size(); ++s) {
      if (fixed[s] || all[s].min == all[s].max) continue;
      number[s] = static_cast<int>(attempt.symbols.size());
      TraceSymbol symbol;
      symbol.name = absl::StrCat("s", attempt.symbols.size());
      symbol.min = exclude_ones ? std::max<int64_t>(all[s].min, 2) : all[s].min;
      symbol.max = all[s].max;
      symbol.input = all[s].input;
      symbol.axis = all[s].axis;
      ranges.push_back({symbol.min, symbol.max});
      attempt.symbols.push_back(std::move(symbol));
    }
    for (const std::vector<int>& axes : assignment->of) {
      std::vector<int>& mapped = attempt.axis_symbols.emplace_back();
      for (const int symbol : axes)
        mapped.push_back(symbol < 0 ? -1 : number[static_cast<size_t>(symbol)]);
    }
    const SizeFitter fitter(
        ranges, ChooseProbes(ranges, include_ones && !exclude_ones));
    for (const std::vector<int64_t>& probe : fitter.probes()) {
      std::vector<int64_t> sizes;
      for (size_t s = 0; s < all.size(); ++s) {
        sizes.push_back(number[s] < 0 ? all[s].max
                                      : probe[static_cast<size_t>(number[s])]);
      }
      absl::StatusOr<ValueList> inputs = MakeInputs(specs, sizes, options.seed);
      if (!inputs.ok()) return inputs.status();
      attempt.inputs.push_back(inputs->values());
    }

    Outcome outcome =
        TraceOnce(model, *prepared, attempt, fitter, options, notes);
    const absl::Status& status = outcome.trace.status();
    if (status.ok()) {
      for (const TraceSymbol& symbol : outcome.trace->symbols) {
        if (!exclude_ones || symbol.min != 2) continue;
        outcome.trace->notes.push_back(
            absl::StrCat("size 1 is left out of axis ", symbol.axis,
                         " of input ", symbol.input, ": ", ones_reason));
      }
      return std::move(outcome.trace);
    }
    if (status.code() == absl::StatusCode::kUnimplemented) {
      return TraceWhole(model, *prepared, attempt, fitter, options,
                        std::string(status.message()), notes);
    }
    // A size of 1 may be the only trouble: it broadcasts.
    if (include_ones && !exclude_ones) {
      exclude_ones = true;
      ones_reason = std::string(status.message());
      continue;
    }
    if (status.code() != absl::StatusCode::kOutOfRange) {
      return absl::Status(status.code(),
                          absl::StrCat(status.message(), " (with inputs ",
                                       DescribeInputs(attempt), ")"));
    }
    std::vector<int> divergent = outcome.divergent;
    for (size_t s = 0; s < all.size(); ++s) {
      if (number[s] < 0) continue;
      if (!divergent.empty() && std::find(divergent.begin(), divergent.end(),
                                          number[s]) == divergent.end())
        continue;
      fixed[s] = true;
      notes.push_back(absl::StrCat("axis ", all[s].axis, " of input ",
                                   all[s].input, " is fixed at ", all[s].max,
                                   ": ", status.message()));
    }
    exclude_ones = false;
  }
}

absl::StatusOr<Trace> BuildTrace(const Model& model, const ValueList& samples,
                                 const TraceOptions& options) {
  std::vector<std::string> notes;
  absl::StatusOr<PreparedGraph> prepared =
      PrepareGraph(model.impl().module, model.impl().changes, notes);
  if (!prepared.ok()) return prepared.status();
  const SizeFitter fitter({}, ChooseProbes({}, false));
  Attempt attempt;
  attempt.inputs = {samples.values()};
  Outcome outcome =
      TraceOnce(model, *prepared, attempt, fitter, options, notes);
  const absl::Status& status = outcome.trace.status();
  if (status.ok()) return std::move(outcome.trace);
  if (status.code() == absl::StatusCode::kUnimplemented ||
      status.code() == absl::StatusCode::kOutOfRange) {
    return TraceWhole(model, *prepared, attempt, fitter, options,
                      std::string(status.message()), notes);
  }
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), " (with inputs ",
                                   DescribeInputs(attempt), ")"));
}

}  // namespace aitune::frontend
