#include "frontend/tracing/trace_test_util.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/trace/input_nesting.h"
#include "frontend/trace/output_buffers.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

absl::StatusOr<std::vector<int64_t>> SymbolValues(const Trace& trace,
                                                  const FlatTensors& inputs) {
  std::vector<int64_t> symbols;
  for (const TraceSymbol& symbol : trace.symbols) {
    symbols.push_back(inputs.views[static_cast<size_t>(symbol.input)]
                          .sizes[static_cast<size_t>(symbol.axis)]);
    if (symbols.back() < symbol.min || symbols.back() > symbol.max)
      return absl::OutOfRangeError("a size is out of range");
  }
  for (size_t i = 0; i < trace.inputs.size(); ++i) {
    const TensorType& type =
        trace.values[static_cast<size_t>(trace.inputs[i])].type;
    if (inputs.views[i].dtype != type.dtype ||
        inputs.views[i].sizes.size() != type.sizes.size()) {
      return absl::InternalError(
          "the type of an input differs from the trace's");
    }
    for (size_t axis = 0; axis < type.sizes.size(); ++axis) {
      if (type.sizes[axis].Evaluate(symbols) != inputs.views[i].sizes[axis]) {
        return absl::InternalError(
            "the size of an input differs from the trace's");
      }
    }
  }
  return symbols;
}

}  // namespace

absl::StatusOr<c10::IValue> RunTrace(const Trace& trace,
                                     const ValueList& inputs) {
  AITUNE_ASSIGN_OR_RETURN(FlatTensors flat,
                          InputNesting(trace.input_structure).Flatten(inputs));
  AITUNE_ASSIGN_OR_RETURN(std::vector<int64_t> symbols,
                          SymbolValues(trace, flat));

  // One region an operator, so that each result is checked against its type.
  *trace.region_place = RegionPlace();
  trace.region_place->is_trial = false;
  std::vector<RegionValue> values(trace.values.size());
  std::vector<at::Tensor> memory;
  for (size_t i = 0; i < trace.inputs.size(); ++i)
    values[static_cast<size_t>(trace.inputs[i])] = flat.views[i];
  for (size_t id = 0; id < trace.values.size(); ++id) {
    const TraceValue& value = trace.values[id];
    if (value.kind == TraceValue::Kind::kConstant) {
      values[id] = trace.constants[static_cast<size_t>(value.constant)].view;
    }
  }
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    const TraceOp& op = trace.ops[i];
    std::vector<ValueId> read, made;
    for (const Argument& argument : op.arguments) {
      if (const auto* id = std::get_if<ValueId>(&argument)) read.push_back(*id);
      if (const auto* ids = std::get_if<std::vector<ValueId>>(&argument)) {
        std::copy_if(ids->begin(), ids->end(), std::back_inserter(read),
                     [](ValueId id) { return id >= 0; });
      }
    }
    std::copy_if(op.results.begin(), op.results.end(), std::back_inserter(made),
                 [](ValueId id) { return id >= 0; });
    std::vector<RegionValue> region_inputs, region_outputs;
    for (const ValueId id : read)
      region_inputs.push_back(values[static_cast<size_t>(id)]);
    for (const ValueId id : made) {
      const TraceValue& value = trace.values[static_cast<size_t>(id)];
      if (value.kind == TraceValue::Kind::kOpaque) {
        region_outputs.emplace_back(OpaqueValue());
        continue;
      }
      std::vector<int64_t> sizes;
      for (const SizeExpression& size : value.type.sizes)
        sizes.push_back(size.Evaluate(symbols));
      memory.push_back(at::empty(
          sizes, at::TensorOptions().dtype(ToScalarType(value.type.dtype))));
      region_outputs.emplace_back(ViewOf(memory.back()));
    }
    const auto region =
        trace.make_fallback_region({static_cast<int>(i)}, read, made);
    AITUNE_RETURN_IF_ERROR(
        region->Run(region_inputs, symbols, absl::MakeSpan(region_outputs)));
    for (size_t r = 0; r < made.size(); ++r)
      values[static_cast<size_t>(made[r])] = region_outputs[r];
  }
  OutputBuffers outputs;
  const auto owner =
      std::make_shared<std::pair<FlatTensors, std::vector<at::Tensor>>>(flat,
                                                                        memory);
  for (const ValueId id : trace.outputs) {
    outputs.values.push_back(values[static_cast<size_t>(id)]);
    outputs.owners.push_back(owner);
  }
  return UnflattenOutputs(trace.output_structure, outputs);
}

std::string Difference(const c10::IValue& actual, const c10::IValue& expected) {
  const std::string texts =
      absl::StrCat(Describe(actual), " instead of ", Describe(expected));
  if (actual.tagKind() != expected.tagKind()) return texts;
  if (expected.isTensor()) {
    const at::Tensor &a = actual.toTensor(), &e = expected.toTensor();
    if (a.scalar_type() != e.scalar_type() || a.sizes() != e.sizes())
      return texts;
    if (!e.is_floating_point()) return a.equal(e) ? "" : "elements differ";
    const double tolerance =
        e.scalar_type() == at::kBFloat16 || e.scalar_type() == at::kHalf ? 5e-2
                                                                         : 1e-4;
    if (at::allclose(a.to(at::kDouble), e.to(at::kDouble), tolerance, tolerance,
                     /*equal_nan=*/true))
      return "";
    return absl::StrCat("elements differ by up to ",
                        (a - e).abs().max().item<double>());
  }
  std::vector<c10::IValue> left, right;
  const auto collect = [](const c10::IValue& value,
                          std::vector<c10::IValue>& into) {
    if (value.isTuple()) into = value.toTupleRef().elements().vec();
    if (value.isList()) into = value.toListRef().vec();
    if (value.isGenericDict()) {
      for (const auto& entry : value.toGenericDict()) {
        into.push_back(entry.key());
        into.push_back(entry.value());
      }
    }
  };
  collect(actual, left);
  collect(expected, right);
  if (left.size() != right.size()) return texts;
  for (size_t i = 0; i < left.size(); ++i) {
    if (std::string text = Difference(left[i], right[i]); !text.empty())
      return absl::StrCat("[", i, "]: ", text);
  }
  if (expected.isTuple() || expected.isList() || expected.isGenericDict())
    return "";
  return actual == expected ? "" : texts;
}

absl::StatusOr<Trace> TraceSource(const std::string& source,
                                  const std::vector<std::string>& specs,
                                  const TraceOptions& options) {
  AITUNE_ASSIGN_OR_RETURN(Model model, Model::FromSource(source));
  std::vector<InputSpec> parsed;
  for (const std::string& text : specs) {
    AITUNE_ASSIGN_OR_RETURN(InputSpec spec, ParseInputSpec(text));
    parsed.push_back(std::move(spec));
  }
  return BuildTrace(model, parsed, options);
}

absl::StatusOr<Trace> TraceAndCompare(const Model& model,
                                      const std::vector<std::string>& specs,
                                      const TraceOptions& options) {
  std::vector<InputSpec> parsed;
  for (const std::string& text : specs) {
    AITUNE_ASSIGN_OR_RETURN(InputSpec spec, ParseInputSpec(text));
    parsed.push_back(std::move(spec));
  }
  AITUNE_ASSIGN_OR_RETURN(Trace trace, BuildTrace(model, parsed, options));
  AITUNE_ASSIGN_OR_RETURN(SymbolAssignment symbols, AssignSymbols(parsed));
  // Bit s of `corner` chooses the bound of symbol s; one more run in between.
  const size_t corners = size_t{1} << symbols.symbols.size();
  for (size_t corner = 0; corner <= corners; ++corner) {
    std::vector<int64_t> sizes;
    for (size_t s = 0; s < symbols.symbols.size(); ++s) {
      int64_t low = symbols.symbols[s].max;
      const int64_t high = symbols.symbols[s].max;
      // A symbol that was narrowed or fixed is only good for what is left.
      for (const TraceSymbol& kept : trace.symbols) {
        if (kept.input == symbols.symbols[s].input &&
            kept.axis == symbols.symbols[s].axis)
          low = kept.min;
      }
      sizes.push_back(corner == corners        ? (low + high) / 2
                      : (corner >> s & 1) != 0 ? high
                                               : low);
    }
    AITUNE_ASSIGN_OR_RETURN(ValueList inputs,
                            MakeInputs(parsed, sizes, /*seed=*/corner + 7));
    // The program may write to its inputs: each run gets its own.
    AITUNE_ASSIGN_OR_RETURN(ValueList again,
                            MakeInputs(parsed, sizes, /*seed=*/corner + 7));
    // What becomes of their sizes is eager's alone.
    const ValueList memory = inputs.MapTensors(
        [](const at::Tensor& tensor) { return tensor.alias(); });
    AITUNE_ASSIGN_OR_RETURN(c10::IValue expected, model.RunEager(inputs));
    AITUNE_ASSIGN_OR_RETURN(c10::IValue actual, RunTrace(trace, again));
    std::string difference = Difference(actual, expected);
    for (size_t i = 0; difference.empty() && i < inputs.values().size(); ++i) {
      difference = Difference(again.values()[i], memory.values()[i]);
      if (!difference.empty())
        difference = absl::StrCat("argument ", i, " after it: ", difference);
    }
    if (!difference.empty()) {
      return absl::InternalError(
          absl::StrCat("inputs ", inputs.Describe(), ": ", difference));
    }
  }
  return trace;
}

absl::StatusOr<Trace> TraceAndCompare(const std::string& source,
                                      const std::vector<std::string>& specs,
                                      const TraceOptions& options) {
  AITUNE_ASSIGN_OR_RETURN(Model model, Model::FromSource(source));
  return TraceAndCompare(model, specs, options);
}

std::vector<std::string> OpNames(const Trace& trace) {
  std::vector<std::string> names;
  for (const TraceOp& op : trace.ops)
    names.push_back(
        absl::StrCat(op.name, op.overload.empty() ? "" : ".", op.overload));
  return names;
}

int FallbackCount(const Trace& trace) {
  return static_cast<int>(std::count_if(
      trace.ops.begin(), trace.ops.end(),
      [](const TraceOp& op) { return !op.must_fall_back.empty(); }));
}

}  // namespace aitune::frontend
