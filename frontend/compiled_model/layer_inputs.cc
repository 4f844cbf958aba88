#include "frontend/compiled_model/layer_inputs.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "frontend/trace/input_nesting.h"
#include "frontend/trace/output_buffers.h"
#include "quant/schemes/rows.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

constexpr int64_t kMostRows = 128;                // of a layer
constexpr int64_t kMostBytes = int64_t{4} << 30;  // of all layers' inputs

// An operator that multiplies, with the positions of its two operands among its
// arguments.
struct Product {
  const char* name;
  size_t input, weight;
};
constexpr Product kProducts[] = {{"aten::linear", 0, 1},
                                 {"aten::matmul", 0, 1},
                                 {"aten::mm", 0, 1},
                                 {"aten::addmm", 1, 2}};

// What a constant weight is multiplied with.
struct LayerInput {
  ValueId value;
  int32_t weight;  // the number of its constant
  int last_op;     // the product
};

const TraceValue* ValueOf(const Trace& trace, const TraceOp& op,
                          size_t argument) {
  if (argument >= op.arguments.size()) return nullptr;
  const ValueId* id = std::get_if<ValueId>(&op.arguments[argument]);
  return id == nullptr || *id < 0 ? nullptr
                                  : &trace.values[static_cast<size_t>(*id)];
}

// One for each use of a weight.
std::vector<LayerInput> FindInputs(const Trace& trace) {
  std::vector<LayerInput> found;
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    const TraceOp& op = trace.ops[i];
    const auto* product = std::find_if(
        std::begin(kProducts), std::end(kProducts),
        [&](const Product& known) { return op.name == known.name; });
    if (product == std::end(kProducts)) continue;
    const TraceValue* input = ValueOf(trace, op, product->input);
    const TraceValue* weight = ValueOf(trace, op, product->weight);
    if (input == nullptr || weight == nullptr ||
        input->kind != TraceValue::Kind::kTensor ||
        weight->kind != TraceValue::Kind::kConstant ||
        weight->type.sizes.size() != 2 || input->type.sizes.empty() ||
        !quant::IsQuantizable(input->type.dtype))
      continue;
    found.push_back({std::get<ValueId>(op.arguments[product->input]),
                     weight->constant, static_cast<int>(i)});
  }
  return found;
}

// The rows that each weight is multiplied with.
class LayerRows {
 public:
  explicit LayerRows(const std::vector<LayerInput>& layers) {
    for (const LayerInput& layer : layers) ++uses_[layer.weight];
  }

  // Adds rows of one use, so many that all uses have as many together as a
  // layer may.
  void Add(int32_t weight, const TensorView& view) {
    quant::FloatMatrix matrix;
    matrix.data = view.data;
    matrix.dtype = view.dtype;
    matrix.columns = view.sizes.back();
    const int64_t all =
        matrix.columns == 0 ? 0 : ElementCount(view.sizes) / matrix.columns;
    matrix.rows = all;
    matrix.row_stride = matrix.columns;
    quant::RowReader reader(matrix);
    const int64_t rows =
        std::min(all, std::max<int64_t>(kMostRows / uses_[weight], 1));
    Rows& taken = rows_[weight];
    taken.columns = matrix.columns;
    for (int64_t i = 0; i < rows; ++i) {
      const float* row = reader.Row(i * all / rows);
      taken.numbers.insert(taken.numbers.end(), row, row + matrix.columns);
    }
  }

  std::map<int64_t, ConstantTensor> Take() && {
    std::map<int64_t, ConstantTensor> tensors;
    for (auto& [weight, rows] : rows_) {
      const auto numbers =
          std::make_shared<std::vector<float>>(std::move(rows.numbers));
      const int64_t count =
          rows.columns == 0
              ? 0
              : static_cast<int64_t>(numbers->size()) / rows.columns;
      ConstantTensor& tensor = tensors[weight];
      tensor.view = {
          numbers->data(), DataType::kFloat32, {count, rows.columns}};
      tensor.owner = numbers;
    }
    return tensors;
  }

 private:
  struct Rows {
    std::vector<float> numbers;
    int64_t columns = 0;
  };

  std::map<int32_t, int64_t> uses_;  // by the number of the weight's constant
  std::map<int32_t, Rows> rows_;     // by the same
};

}  // namespace

absl::StatusOr<std::map<int64_t, ConstantTensor>> RecordLayerInputs(
    const Trace& trace, const ValueList& arguments) {
  AITUNE_ASSIGN_OR_RETURN(
      const FlatTensors inputs,
      InputNesting(trace.input_structure).Flatten(arguments));
  std::vector<int64_t> symbols;
  for (const TraceSymbol& symbol : trace.symbols)
    symbols.push_back(inputs.views[static_cast<size_t>(symbol.input)]
                          .sizes[static_cast<size_t>(symbol.axis)]);
  const std::vector<LayerInput> found = FindInputs(trace);
  LayerRows rows(found);
  std::vector<LayerInput> layers;  // whose inputs operators compute
  std::vector<ValueId> outputs;    // each once
  std::vector<DataType> dtypes;
  std::vector<std::vector<int64_t>> sizes;
  int64_t bytes = 0;
  int last_op = -1;
  for (const LayerInput& layer : found) {
    const auto given =
        std::find(trace.inputs.begin(), trace.inputs.end(), layer.value);
    if (given != trace.inputs.end()) {
      rows.Add(layer.weight, inputs.views[given - trace.inputs.begin()]);
      continue;
    }
    const TensorType& type =
        trace.values[static_cast<size_t>(layer.value)].type;
    if (std::count(outputs.begin(), outputs.end(), layer.value) == 0) {
      std::vector<int64_t> these;
      for (const SizeExpression& size : type.sizes)
        these.push_back(size.Evaluate(symbols));
      const int64_t more = ElementCount(these) * SizeInBytes(type.dtype);
      if (bytes + more > kMostBytes) continue;
      bytes += more;
      outputs.push_back(layer.value);
      dtypes.push_back(type.dtype);
      sizes.push_back(std::move(these));
    }
    layers.push_back(layer);
    last_op = std::max(last_op, layer.last_op - 1);
  }
  if (layers.empty()) return std::move(rows).Take();
  OutputBuffers buffers =
      AllocateOutputs(dtypes, sizes, std::vector<bool>(outputs.size(), false));
  std::vector<int> ops(static_cast<size_t>(last_op + 1));
  std::iota(ops.begin(), ops.end(), 0);
  const std::vector<RegionValue> values(inputs.views.begin(),
                                        inputs.views.end());
  AITUNE_RETURN_IF_ERROR(
      trace.make_fallback_region(ops, trace.inputs, outputs)
          ->Run(values, symbols, absl::MakeSpan(buffers.values)));
  for (const LayerInput& layer : layers) {
    const auto at = std::find(outputs.begin(), outputs.end(), layer.value);
    rows.Add(layer.weight,
             std::get<TensorView>(buffers.values[at - outputs.begin()]));
  }
  return std::move(rows).Take();
}

}  // namespace aitune::frontend
