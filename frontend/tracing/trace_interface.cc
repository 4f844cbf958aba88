#include "frontend/tracing/trace_interface.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/trace/structure_internal.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Kind = ProbedValue::Kind;

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
      AITUNE_ASSIGN_OR_RETURN(ProbedRef child, Build(element, &children[i]));
      value->elements.push_back(std::move(child));
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
    *structure = Structure();
    structure->type_name = "Tensor";
    return tensor;
  }

  Interpreter& interpreter_;
  const Attempt& attempt_;
};

}  // namespace

absl::Status BuildOutput(Interpreter& interpreter, const ProbedRef& value,
                         Structure* structure) {
  AITUNE_RETURN_IF_ERROR(interpreter.CheckOutput(*value));
  TraceBuilder& builder = interpreter.builder();
  switch (value->kind) {
    case Kind::kTensor: {
      if (!value->has_type) {
        *structure = ConstantStructure(value->probes[0]);
        return absl::OkStatus();
      }
      AITUNE_ASSIGN_OR_RETURN(ValueId id,
                              interpreter.functionalizer().ReadResult(*value));
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

}  // namespace aitune::frontend
