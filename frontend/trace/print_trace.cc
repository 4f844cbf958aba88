#include "frontend/trace/print_trace.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace aitune::frontend {
namespace {

std::string PrintValue(const Trace& trace, ValueId id) {
  if (id < 0) return "None";
  const TraceValue& value = trace.values[static_cast<size_t>(id)];
  if (value.kind != TraceValue::Kind::kConstant) return absl::StrCat("%", id);
  const ConstantTensor& constant =
      trace.constants[static_cast<size_t>(value.constant)];
  if (!constant.name.empty()) return constant.name;
  return absl::StrCat("constant ", PrintType(value.type));
}

struct ArgumentPrinter {
  const Trace& trace;
  std::string operator()(const NoneArgument&) const { return "None"; }
  std::string operator()(ValueId id) const { return PrintValue(trace, id); }
  std::string operator()(const std::vector<ValueId>& ids) const {
    return List(ids, [&](ValueId id) { return PrintValue(trace, id); });
  }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const SizeExpression& size) const {
    return size.ToString();
  }
  std::string operator()(const std::vector<SizeExpression>& sizes) const {
    return List(sizes,
                [](const SizeExpression& size) { return size.ToString(); });
  }
  std::string operator()(double value) const {
    return absl::StrCat(value, "f");
  }
  std::string operator()(const std::vector<double>& values) const {
    return List(values, [](double value) { return absl::StrCat(value, "f"); });
  }
  std::string operator()(const std::vector<bool>& values) const {
    return List(values, [](bool value) {
      return std::string(value ? "true" : "false");
    });
  }
  std::string operator()(const std::string& text) const {
    return absl::StrCat("\"", text, "\"");
  }
  std::string operator()(const ScalarTypeArgument& type) const {
    return std::string(Name(type.dtype));
  }

  template <typename T, typename Print>
  static std::string List(const std::vector<T>& items, const Print& print) {
    std::vector<std::string> texts;
    for (const T& item : items) texts.push_back(print(item));
    return absl::StrCat("[", absl::StrJoin(texts, ", "), "]");
  }
};

std::string PrintDefinition(const Trace& trace, ValueId id) {
  if (id < 0) return "_";
  const TraceValue& value = trace.values[static_cast<size_t>(id)];
  if (value.kind == TraceValue::Kind::kOpaque)
    return absl::StrCat("%", id, ": opaque");
  return absl::StrCat("%", id, ": ", PrintType(value.type));
}

}  // namespace

std::string PrintType(const TensorType& type) {
  return absl::StrCat(
      std::string(Name(type.dtype)),
      ArgumentPrinter::List(type.sizes, [](const SizeExpression& size) {
        return size.ToString();
      }));
}

std::string PrintTrace(const Trace& trace) {
  std::string text;
  for (size_t s = 0; s < trace.symbols.size(); ++s) {
    const TraceSymbol& symbol = trace.symbols[s];
    absl::StrAppend(&text, "symbol s", s, " in ", symbol.min, "..", symbol.max,
                    " = axis ", symbol.axis, " of input ", symbol.input, "\n");
  }
  for (const ValueId input : trace.inputs)
    absl::StrAppend(&text, "input ", PrintDefinition(trace, input), "\n");
  for (const TraceOp& op : trace.ops) {
    std::vector<std::string> results, arguments;
    for (const ValueId result : op.results)
      results.push_back(PrintDefinition(trace, result));
    for (const Argument& argument : op.arguments)
      arguments.push_back(std::visit(ArgumentPrinter{trace}, argument));
    absl::StrAppend(&text, absl::StrJoin(results, ", "),
                    results.empty() ? "" : " = ", op.name,
                    op.overload.empty() ? "" : ".", op.overload, "(",
                    absl::StrJoin(arguments, ", "), ")");
    if (!op.must_fall_back.empty())
      absl::StrAppend(&text, "  # LibTorch: ", op.must_fall_back);
    absl::StrAppend(&text, "\n");
  }
  std::vector<std::string> outputs;
  for (const ValueId output : trace.outputs)
    outputs.push_back(PrintValue(trace, output));
  absl::StrAppend(&text, "return ", absl::StrJoin(outputs, ", "), "\n");
  return text;
}

}  // namespace aitune::frontend
