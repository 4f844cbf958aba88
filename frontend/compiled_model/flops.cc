#include "frontend/compiled_model/flops.h"

#include <map>
#include <optional>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "frontend/trace/argument_values.h"

namespace aitune::frontend {
namespace {

using Sizes = std::vector<int64_t>;

// Reads the operands' sizes of one operator call.
class Operands {
 public:
  Operands(const Trace& trace, const TraceOp& op,
           absl::Span<const int64_t> symbols)
      : trace_(trace), op_(op), symbols_(symbols) {}

  // The sizes of a value; nothing if it is opaque or absent.
  std::optional<Sizes> OfValue(ValueId id) const {
    if (id < 0 || trace_.values[id].kind == TraceValue::Kind::kOpaque)
      return std::nullopt;
    Sizes sizes;
    for (const SizeExpression& size : trace_.values[id].type.sizes)
      sizes.push_back(size.Evaluate(symbols_));
    return sizes;
  }

  std::optional<Sizes> Result() const {
    return op_.results.empty() ? std::nullopt : OfValue(op_.results[0]);
  }

  const Argument* Find(std::string_view name) const {
    for (size_t i = 0;
         i < op_.argument_names.size() && i < op_.arguments.size(); ++i) {
      if (op_.argument_names[i] == name) return &op_.arguments[i];
    }
    return nullptr;
  }

  // The first of `names` that is a tensor argument.
  std::optional<Sizes> Tensor(
      std::initializer_list<std::string_view> names) const {
    for (std::string_view name : names) {
      const Argument* argument = Find(name);
      if (argument == nullptr) continue;
      if (const ValueId* id = std::get_if<ValueId>(argument))
        return OfValue(*id);
    }
    return std::nullopt;
  }

  std::vector<Sizes> TensorList(std::string_view name) const {
    std::vector<Sizes> list;
    const Argument* argument = Find(name);
    const auto* ids = argument == nullptr
                          ? nullptr
                          : std::get_if<std::vector<ValueId>>(argument);
    if (ids == nullptr) return list;
    for (ValueId id : *ids) {
      if (std::optional<Sizes> sizes = OfValue(id)) list.push_back(*sizes);
    }
    return list;
  }

  bool Flag(std::string_view name) const {
    const Argument* argument = Find(name);
    const bool* flag =
        argument == nullptr ? nullptr : std::get_if<bool>(argument);
    return flag != nullptr && *flag;
  }

  std::string Text(std::string_view name) const {
    const Argument* argument = Find(name);
    const auto* text =
        argument == nullptr ? nullptr : std::get_if<std::string>(argument);
    return text == nullptr ? "" : *text;
  }

 private:
  const Trace& trace_;
  const TraceOp& op_;
  absl::Span<const int64_t> symbols_;
};

double Elements(const Sizes& sizes) {
  return static_cast<double>(ElementCount(sizes));
}

double MatrixProduct(const Operands& operands) {
  const auto lhs = operands.Tensor({"mat1", "batch1", "input", "mat", "self"});
  const auto result = operands.Result();
  return lhs && result && !lhs->empty()
             ? 2 * Elements(*result) * static_cast<double>(lhs->back())
             : 0;
}

// The tensor `name` of a call with packed weights. These are objects, which
// traces have not: such a call lists its values, that tensor first.
std::optional<ValueId> InputBesidePacked(const TraceOp& op,
                                         std::string_view name) {
  for (size_t i = 0; i < op.argument_names.size(); ++i) {
    const ValueId* const id = std::get_if<ValueId>(&op.arguments.at(i));
    if (op.argument_names[i] == name && id != nullptr) return *id;
    const auto* const ids =
        std::get_if<std::vector<ValueId>>(&op.arguments.at(i));
    if (op.argument_names[i] == "values" && ids != nullptr && !ids->empty())
      return ids->front();
  }
  return std::nullopt;
}

// A linear layer of LibTorch's quantisation: its input and result say what its
// weights don't. Not what packs them, which has no such input.
bool IsPackedLinear(const TraceOp& op) {
  return absl::StartsWith(op.name, "quantized::linear") &&
         !absl::StartsWith(op.name, "quantized::linear_prepack") &&
         InputBesidePacked(op, "X").has_value();
}

// Of LibTorch's quantisation, with weights whose sizes their object alone has.
bool IsOfPackedSizes(const TraceOp& op) {
  const bool is_convolution = absl::StartsWith(op.name, "quantized::conv") &&
                              !absl::StrContains(op.name, "_prepack");
  return (is_convolution && InputBesidePacked(op, "qx")) ||
         (absl::StrContains(op.name, "::quantized_") &&
          InputBesidePacked(op, "input"));
}

double PackedLinear(const Operands& operands, const TraceOp& op) {
  const std::optional<Sizes> input =
      operands.OfValue(*InputBesidePacked(op, "X"));
  const auto result = operands.Result();
  return input && result && !input->empty()
             ? 2 * Elements(*result) * static_cast<double>(input->back())
             : 0;
}

double Convolution(const Operands& operands, bool transposed) {
  const auto input = operands.Tensor({"input", "self"});
  const auto weight = operands.Tensor({"weight"});
  const auto result = operands.Result();
  if (!input || !weight || !result || weight->empty() || weight->front() == 0)
    return 0;
  return 2 * Elements(transposed ? *input : *result) * Elements(*weight) /
         static_cast<double>(weight->front());
}

double Attention(const Operands& operands) {
  const auto query = operands.Tensor({"query"});
  const auto key = operands.Tensor({"key"});
  const auto result = operands.Result();
  if (!query || !key || !result || key->size() < 2) return 0;
  const double keys = static_cast<double>((*key)[key->size() - 2]);
  return 2 * keys * (Elements(*query) + Elements(*result));
}

// The fused self-attention of encoders: four projections and the attention.
double MultiHeadAttention(const Operands& operands) {
  const auto query = operands.Tensor({"query"});
  const auto key = operands.Tensor({"key"});
  if (!query || !key || query->size() != 3 || key->size() != 3) return 0;
  const double width = static_cast<double>(query->back());
  const double keys = static_cast<double>((*key)[1]);
  return 4 * Elements(*query) * (width + keys) + 4 * Elements(*key) * width;
}

double Einsum(const Operands& operands) {
  const std::string equation = operands.Text("equation");
  const std::vector<Sizes> tensors = operands.TensorList("tensors");
  if (tensors.size() < 2 || absl::StrContains(equation, "...")) return 0;
  std::map<char, int64_t> labels;
  size_t tensor = 0, axis = 0;
  for (char c : equation.substr(0, equation.find("->"))) {
    if (c == ',') {
      ++tensor;
      axis = 0;
    } else if (c != ' ' && tensor < tensors.size() &&
               axis < tensors[tensor].size()) {
      labels[c] = std::max(labels[c], tensors[tensor][axis++]);
    }
  }
  double product = 2;
  for (const auto& [label, size] : labels) product *= static_cast<double>(size);
  return product;
}

// Products of groups of rows, or of columns or terms of the sum, with a matrix
// each: every row meets one (aten::_grouped_mm, experts).
double GroupedProduct(const Operands& operands) {
  const auto lhs = operands.Tensor({"self"}), rhs = operands.Tensor({"mat2"});
  if (!lhs || !rhs || lhs->size() < 2 || rhs->size() < 2) return 0;
  const int64_t rows = (*lhs)[lhs->size() - 2], terms = lhs->back();
  const double groups = lhs->size() == 3 && rhs->size() == 3
                            ? static_cast<double>(lhs->front())
                            : 1;
  return 2 * groups * static_cast<double>(rows) * static_cast<double>(terms) *
         static_cast<double>(rhs->back());
}

double Recurrent(const Operands& operands) {
  const auto input = operands.Tensor({"input", "data"});
  if (!input || input->empty() || input->back() == 0) return 0;
  double weights = 0;
  for (const Sizes& sizes : operands.TensorList("params"))
    weights += sizes.size() == 2 ? Elements(sizes) : 0;
  for (std::string_view name : {"w_ih", "w_hh"}) {
    if (auto sizes = operands.Tensor({name})) weights += Elements(*sizes);
  }
  return 2 * weights * Elements(*input) / static_cast<double>(input->back());
}

bool IsMatrixProduct(const std::string& name) {
  static const auto* const kNames = new absl::flat_hash_set<std::string>{
      "aten::mm",    "aten::bmm",     "aten::matmul", "aten::linear",
      "aten::addmm", "aten::baddbmm", "aten::addmv",  "aten::mv",
      "aten::dot",   "aten::inner",   "aten::vdot",
  };
  return kNames->contains(name);
}

bool IsRecurrent(const std::string& name) {
  static const auto* const kNames = new absl::flat_hash_set<std::string>{
      "aten::lstm",          "aten::gru",           "aten::rnn_tanh",
      "aten::rnn_relu",      "aten::lstm_cell",     "aten::gru_cell",
      "aten::rnn_tanh_cell", "aten::rnn_relu_cell",
  };
  return kNames->contains(name);
}

bool IsConvolution(const std::string& name) {
  return absl::StartsWith(name, "aten::conv") || name == "aten::_convolution";
}

bool IsAttention(const std::string& name) {
  return absl::StrContains(name, "scaled_dot_product");
}

}  // namespace

double CountFlops(const Trace& trace, const TraceOp& op,
                  absl::Span<const int64_t> symbols) {
  const Operands operands(trace, op, symbols);
  if (IsMatrixProduct(op.name)) return MatrixProduct(operands);
  if (IsPackedLinear(op)) return PackedLinear(operands, op);
  if (op.name == "aten::addbmm") {
    const auto lhs = operands.Tensor({"batch1"});
    return lhs && lhs->size() == 3
               ? MatrixProduct(operands) * static_cast<double>((*lhs)[0])
               : 0;
  }
  if (absl::StrContains(op.name, "conv_transpose"))
    return Convolution(operands, true);
  if (IsConvolution(op.name)) {
    return Convolution(operands, operands.Flag("transposed"));
  }
  if (IsAttention(op.name)) return Attention(operands);
  if (op.name == "aten::_native_multi_head_attention") {
    return MultiHeadAttention(operands);
  }
  if (op.name == "aten::einsum") return Einsum(operands);
  if (op.name == "aten::_grouped_mm") return GroupedProduct(operands);
  if (IsRecurrent(op.name)) return Recurrent(operands);
  return 0;
}

bool HasUnknownFlops(const Trace& trace, const TraceOp& op) {
  if (IsOfPackedSizes(op)) return true;
  const bool is_contraction =
      IsMatrixProduct(op.name) || IsConvolution(op.name) ||
      IsAttention(op.name) || IsRecurrent(op.name) ||
      op.name == "aten::addbmm" || op.name == "aten::einsum" ||
      op.name == "aten::_grouped_mm" ||
      op.name == "aten::_native_multi_head_attention";
  if (!is_contraction && !IsPackedLinear(op)) return false;
  bool opaque = false;
  const auto look = [&](ValueId id) {
    opaque |= trace.values[id].kind == TraceValue::Kind::kOpaque;
  };
  if (is_contraction) {
    for (const Argument& argument : op.arguments) ForEachValue(argument, look);
  } else {
    look(*InputBesidePacked(op, "X"));
  }
  for (const ValueId result : op.results) {
    if (result >= 0) look(result);
  }
  return opaque;
}

}  // namespace aitune::frontend
