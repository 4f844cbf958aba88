// Recurrent layers, unrolled: one matrix product over all steps for the input's
// part, then for each step one for the hidden state's and pointwise operations.
#include "absl/strings/str_cat.h"
#include "frontend/importer/registry.h"

namespace aitune::frontend {
namespace {

namespace ait = mlir::ait;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::AffineExpr;
using mlir::Value;

// Steps of all layers and directions together; more would make the program too
// long to compile in good time.
constexpr int64_t kMaxSteps = 1024;

enum class CellKind { kLstm, kGru, kTanh, kRelu };

struct CellWeights {
  Value input, hidden;            // [gates * H, I], [gates * H, H or P]
  Value input_bias, hidden_bias;  // [gates * H] or null
  Value projection;               // [P, H] or null (LSTM)
};

struct CellState {
  Value hidden;  // [B, H]
  Value cell;    // [B, H], LSTM only
};

int64_t GatesOf(CellKind kind) {
  return kind == CellKind::kLstm ? 4 : kind == CellKind::kGru ? 3 : 1;
}

// The bias that is added to the input's product: the sum of both biases, unless
// the cell treats the hidden one differently.
Value InputBias(OpImporter& call, CellKind kind, const CellWeights& weights) {
  if (kind == CellKind::kGru || !weights.input_bias || !weights.hidden_bias)
    return weights.input_bias;
  return call.Add(weights.input_bias, weights.hidden_bias);
}

// One step. `from_input` [B, gates * H] is the input's part with its bias.
CellState Step(OpImporter& call, CellKind kind, const CellWeights& weights,
               Value from_input, const CellState& state) {
  const AffineExpr size =
      call.SizesOf(weights.hidden)[0].floorDiv(GatesOf(kind));
  auto gate = [&](Value gates, int64_t index) {
    return call.Slice(gates, 1, size * index, size);
  };
  Value from_hidden =
      call.Linear(state.hidden, weights.hidden,
                  kind == CellKind::kGru ? weights.hidden_bias : Value());
  if (kind == CellKind::kGru) {
    Value reset = call.Unary<ait::SigmoidOp>(
        call.Add(gate(from_input, 0), gate(from_hidden, 0)));
    Value update = call.Unary<ait::SigmoidOp>(
        call.Add(gate(from_input, 1), gate(from_hidden, 1)));
    Value candidate = call.Unary<ait::TanhOp>(call.Add(
        gate(from_input, 2), call.Multiply(reset, gate(from_hidden, 2))));
    return {
        call.Add(call.Multiply(call.Subtract(state.hidden, candidate), update),
                 candidate),
        Value()};
  }
  Value gates = call.Add(from_input, from_hidden);
  if (kind == CellKind::kTanh) return {call.Unary<ait::TanhOp>(gates), Value()};
  if (kind == CellKind::kRelu) return {call.Unary<ait::ReluOp>(gates), Value()};
  Value input = call.Unary<ait::SigmoidOp>(gate(gates, 0));
  Value forget = call.Unary<ait::SigmoidOp>(gate(gates, 1));
  Value candidate = call.Unary<ait::TanhOp>(gate(gates, 2));
  Value output = call.Unary<ait::SigmoidOp>(gate(gates, 3));
  CellState next;
  next.cell = call.Add(call.Multiply(forget, state.cell),
                       call.Multiply(input, candidate));
  next.hidden = call.Multiply(output, call.Unary<ait::TanhOp>(next.cell));
  if (weights.projection)
    next.hidden = call.Linear(next.hidden, weights.projection, Value());
  return next;
}

absl::Status CheckWeights(OpImporter& call, CellKind kind,
                          const CellWeights& weights) {
  for (Value weight : {weights.input, weights.hidden}) {
    if (!weight || call.RankOf(weight) != 2)
      return Reject("weights of rank 2 are expected");
    const std::optional<int64_t> rows =
        call.StaticSize(call.SizesOf(weight)[0]);
    if (!rows || *rows % GatesOf(kind) != 0)
      return Reject("a weight's rows don't split into gates");
  }
  return absl::OkStatus();
}

// ---- Whole layers ----

struct Layers {
  CellKind kind = CellKind::kLstm;
  Value input;                       // [T, B, I], or [B, T, I] with batch_first
  Value hidden, cell;                // [layers * directions, B, H]
  std::vector<CellWeights> weights;  // layer by layer, direction by direction
  int64_t layers = 1, directions = 1, steps = 1;
  bool batch_first = false;
};

// States and weights of other sizes are the operator's to refuse: oneDNN's
// reads beyond them.
absl::Status CheckSizes(OpImporter& call, const Layers& net) {
  using Sizes = SmallVector<AffineExpr>;
  const Sizes input = call.SizesOf(net.input);
  const AffineExpr batch = input[net.batch_first ? 0 : 1];
  const CellWeights& first = net.weights[0];
  const AffineExpr rows = call.SizesOf(first.input)[0],
                   hidden = rows.floorDiv(GatesOf(net.kind)),
                   given = first.projection ? call.SizesOf(first.projection)[0]
                                            : hidden,
                   cells = mlir::getAffineConstantExpr(
                       static_cast<int64_t>(net.weights.size()),
                       rows.getContext());
  auto fits = [&](Value value, const Sizes& sizes) {
    return !value || call.SameSizes(call.SizesOf(value), sizes);
  };
  bool all = fits(net.hidden, {cells, batch, given}) &&
             fits(net.cell, {cells, batch, hidden});
  for (auto [index, weights] : llvm::enumerate(net.weights)) {
    const bool is_first = static_cast<int64_t>(index) < net.directions;
    const AffineExpr width = is_first ? input[2] : given * net.directions;
    all &= fits(weights.input, {rows, width}) &&
           fits(weights.hidden, {rows, given}) &&
           fits(weights.input_bias, {rows}) &&
           fits(weights.hidden_bias, {rows}) &&
           fits(weights.projection, {given, hidden});
  }
  return all ? absl::OkStatus()
             : Reject(
                   "the sizes of the states or of the weights don't fit the "
                   "input's");
}

absl::StatusOr<Layers> ReadLayers(OpImporter& call, CellKind kind) {
  Layers net;
  net.kind = kind;
  if (!call.Find("input")) return Reject("packed sequences are not supported");
  AITUNE_ASSIGN_OR_RETURN(net.input, call.Tensor("input"));
  if (kind == CellKind::kLstm) {
    AITUNE_ASSIGN_OR_RETURN(SmallVector<Value> states, call.Tensors("hx"));
    if (states.size() != 2 || !states[0] || !states[1])
      return Reject("a hidden and a cell state are expected");
    net.hidden = states[0];
    net.cell = states[1];
    if (call.RankOf(net.cell) != 3)
      return Reject("states of rank 3 are expected");
  } else {
    AITUNE_ASSIGN_OR_RETURN(net.hidden, call.Tensor("hx"));
  }
  if (call.RankOf(net.input) != 3 || call.RankOf(net.hidden) != 3)
    return Reject("input and states of rank 3 are expected");
  AITUNE_ASSIGN_OR_RETURN(bool has_biases, call.Bool("has_biases"));
  AITUNE_ASSIGN_OR_RETURN(net.layers, call.Int("num_layers"));
  AITUNE_ASSIGN_OR_RETURN(double dropout, call.Double("dropout"));
  AITUNE_ASSIGN_OR_RETURN(bool train, call.Bool("train"));
  AITUNE_ASSIGN_OR_RETURN(bool bidirectional, call.Bool("bidirectional"));
  AITUNE_ASSIGN_OR_RETURN(net.batch_first, call.Bool("batch_first"));
  if (train && dropout != 0)
    return Reject(
        "dropout in training mode is random; call eval() on the model before "
        "exporting");
  net.directions = bidirectional ? 2 : 1;
  AITUNE_ASSIGN_OR_RETURN(SmallVector<Value> params, call.Tensors("params"));
  const size_t cells = net.layers < 1 || net.layers > kMaxSteps
                           ? 0
                           : net.layers * net.directions;
  const size_t least = has_biases ? 4 : 2;
  const size_t each = cells == 0 ? 0 : params.size() / cells;
  const bool projected = kind == CellKind::kLstm && each == least + 1;
  if (cells == 0 || params.size() % cells != 0 ||
      (each != least && !projected)) {
    return Reject(absl::StrCat(params.size(), " weights don't fit ", net.layers,
                               " layers"));
  }
  for (size_t i = 0; i < cells; ++i) {
    const Value* own = params.data() + i * each;
    CellWeights weights;
    weights.input = own[0];
    weights.hidden = own[1];
    if (has_biases) {
      weights.input_bias = own[2];
      weights.hidden_bias = own[3];
    }
    if (projected) weights.projection = own[least];
    AITUNE_RETURN_IF_ERROR(CheckWeights(call, kind, weights));
    net.weights.push_back(weights);
  }
  AITUNE_RETURN_IF_ERROR(CheckSizes(call, net));
  const std::optional<int64_t> steps =
      call.StaticSize(call.SizesOf(net.input)[net.batch_first ? 1 : 0]);
  if (!steps)
    return Reject(
        "the number of steps depends on the sizes of the inputs; unrolling "
        "needs a static one");
  net.steps = *steps;
  if (net.steps < 1 || net.steps > kMaxSteps / static_cast<int64_t>(cells)) {
    return Reject(absl::StrCat(net.steps, " steps of ", cells,
                               " cells are too many to unroll; up to ",
                               kMaxSteps, " in all are supported"));
  }
  return net;
}

// One layer in one direction over `input` [T, B, I]; the state after its last
// step is left in `state`. The result is [T, B, H]. The first axis is the
// steps', so that each step's part lies in one piece.
Value RunLayer(OpImporter& call, const Layers& net, const CellWeights& weights,
               Value input, bool backwards, CellState& state) {
  Value from_input =
      call.Linear(input, weights.input, InputBias(call, net.kind, weights));
  SmallVector<Value> outputs(net.steps);
  for (int64_t i = 0; i < net.steps; ++i) {
    const int64_t t = backwards ? net.steps - 1 - i : i;
    Value part = call.Squeeze(call.Slice(from_input, 0, t, 1), {0});
    state = Step(call, net.kind, weights, part, state);
    outputs[t] = call.Unsqueeze(state.hidden, 0);
  }
  return call.Concat(outputs, 0);
}

absl::Status BuildLayers(OpImporter& call, CellKind kind) {
  AITUNE_ASSIGN_OR_RETURN(Layers net, ReadLayers(call, kind));
  auto swapped = [&](Value value) {
    return net.batch_first ? call.Transpose(value, 0, 1) : value;
  };
  Value sequence = swapped(net.input);
  SmallVector<Value> hidden, cell;
  for (int64_t layer = 0; layer < net.layers; ++layer) {
    SmallVector<Value> directions;
    for (int64_t direction = 0; direction < net.directions; ++direction) {
      const int64_t index = layer * net.directions + direction;
      auto initial = [&](Value states) {
        return states ? call.Squeeze(call.Slice(states, 0, index, 1), {0})
                      : Value();
      };
      CellState state = {initial(net.hidden), initial(net.cell)};
      directions.push_back(RunLayer(call, net, net.weights[index], sequence,
                                    direction == 1, state));
      AITUNE_RETURN_IF_ERROR(call.status());
      hidden.push_back(call.Unsqueeze(state.hidden, 0));
      if (state.cell) cell.push_back(call.Unsqueeze(state.cell, 0));
    }
    sequence = call.Concat(directions, 2);
  }
  AITUNE_RETURN_IF_ERROR(call.SetResult(swapped(sequence)));
  AITUNE_RETURN_IF_ERROR(call.SetResult(call.Concat(hidden, 0), 1));
  return kind == CellKind::kLstm ? call.SetResult(call.Concat(cell, 0), 2)
                                 : absl::OkStatus();
}

// ---- Single cells ----

absl::Status BuildCell(OpImporter& call, CellKind kind) {
  AITUNE_ASSIGN_OR_RETURN(Value input, call.Tensor("input"));
  CellState state;
  if (kind == CellKind::kLstm) {
    AITUNE_ASSIGN_OR_RETURN(SmallVector<Value> states, call.Tensors("hx"));
    if (states.size() != 2 || !states[0] || !states[1])
      return Reject("a hidden and a cell state are expected");
    state = {states[0], states[1]};
  } else {
    AITUNE_ASSIGN_OR_RETURN(state.hidden, call.Tensor("hx"));
  }
  if (call.RankOf(input) != 2 || call.RankOf(state.hidden) != 2)
    return Reject("input and states of rank 2 are expected");
  CellWeights weights;
  AITUNE_ASSIGN_OR_RETURN(weights.input, call.Tensor("w_ih"));
  AITUNE_ASSIGN_OR_RETURN(weights.hidden, call.Tensor("w_hh"));
  AITUNE_ASSIGN_OR_RETURN(weights.input_bias, call.OptionalTensor("b_ih"));
  AITUNE_ASSIGN_OR_RETURN(weights.hidden_bias, call.OptionalTensor("b_hh"));
  AITUNE_RETURN_IF_ERROR(CheckWeights(call, kind, weights));
  Value from_input =
      call.Linear(input, weights.input, InputBias(call, kind, weights));
  CellState next = Step(call, kind, weights, from_input, state);
  AITUNE_RETURN_IF_ERROR(call.SetResult(next.hidden));
  return kind == CellKind::kLstm ? call.SetResult(next.cell, 1)
                                 : absl::OkStatus();
}

}  // namespace

void RegisterRecurrentOps(Registry& registry) {
  for (auto [kind, layers, cell] :
       {std::tuple{CellKind::kLstm, "lstm", "lstm_cell"},
        {CellKind::kGru, "gru", "gru_cell"},
        {CellKind::kTanh, "rnn_tanh", "rnn_tanh_cell"},
        {CellKind::kRelu, "rnn_relu", "rnn_relu_cell"}}) {
    const CellKind cell_kind = kind;
    registry.Add({layers}, [cell_kind](OpImporter& call) {
      return BuildLayers(call, cell_kind);
    });
    registry.Add({cell}, [cell_kind](OpImporter& call) {
      return BuildCell(call, cell_kind);
    });
  }
}

}  // namespace aitune::frontend
