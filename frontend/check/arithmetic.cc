#include "frontend/check/arithmetic.h"

#include <string>
#include <variant>

#include "absl/container/flat_hash_set.h"
#include "frontend/check/verification.h"

namespace aitune::frontend {
namespace {

// Operators whose results are elements of their arguments, negated or in a
// wider dtype at most.
bool OnlyMoves(const std::string& op) {
  static const auto* const moves =
      new absl::flat_hash_set<std::string>{"aten::_to_copy",
                                           "aten::_unsafe_view",
                                           "aten::abs",
                                           "aten::alias",
                                           "aten::amax",
                                           "aten::amin",
                                           "aten::as_strided",
                                           "aten::broadcast_to",
                                           "aten::cat",
                                           "aten::chunk",
                                           "aten::clamp",
                                           "aten::clone",
                                           "aten::concat",
                                           "aten::constant_pad_nd",
                                           "aten::contiguous",
                                           "aten::copy",
                                           "aten::detach",
                                           "aten::embedding",
                                           "aten::expand",
                                           "aten::expand_as",
                                           "aten::flatten",
                                           "aten::flip",
                                           "aten::gather",
                                           "aten::index",
                                           "aten::index_select",
                                           "aten::masked_fill",
                                           "aten::max",
                                           "aten::maximum",
                                           "aten::min",
                                           "aten::minimum",
                                           "aten::movedim",
                                           "aten::narrow",
                                           "aten::neg",
                                           "aten::pad",
                                           "aten::permute",
                                           "aten::relu",
                                           "aten::repeat",
                                           "aten::repeat_interleave",
                                           "aten::reshape",
                                           "aten::roll",
                                           "aten::rot90",
                                           "aten::select",
                                           "aten::slice",
                                           "aten::sort",
                                           "aten::split",
                                           "aten::split_with_sizes",
                                           "aten::squeeze",
                                           "aten::stack",
                                           "aten::t",
                                           "aten::take",
                                           "aten::to",
                                           "aten::topk",
                                           "aten::transpose",
                                           "aten::tril",
                                           "aten::triu",
                                           "aten::type_as",
                                           "aten::unbind",
                                           "aten::unflatten",
                                           "aten::unfold",
                                           "aten::unsqueeze",
                                           "aten::view",
                                           "aten::view_as",
                                           "aten::where"};
  return moves->contains(op);
}

// The values that an operator reads.
std::vector<ValueId> Read(const TraceOp& op) {
  std::vector<ValueId> read;
  for (const Argument& argument : op.arguments) {
    if (const auto* id = std::get_if<ValueId>(&argument)) read.push_back(*id);
    if (const auto* ids = std::get_if<std::vector<ValueId>>(&argument)) {
      for (const ValueId id : *ids) {
        if (id >= 0) read.push_back(id);
      }
    }
  }
  return read;
}

std::optional<DataType> DtypeOf(const TraceValue& value) {
  return value.kind == TraceValue::Kind::kOpaque
             ? std::nullopt
             : Narrower(value.type.dtype, std::nullopt);
}

// Whether this is a constant that LibTorch computed while the program was
// traced, on the CPU and by way of dtypes that the trace has not. At other
// sizes kernels compute it.
bool IsComputed(const Trace& trace, const TraceValue& value) {
  return value.kind == TraceValue::Kind::kConstant &&
         trace.constants[static_cast<size_t>(value.constant)].name.empty();
}

// The narrowest dtype that such a constant is computed in, of floating point.
std::optional<DataType> ArithmeticOf(const TraceValue& constant) {
  const std::optional<DataType> own = DtypeOf(constant);
  return own == DataType::kFloat64 ? DataType::kFloat32 : own;
}

}  // namespace

std::vector<std::optional<DataType>> ArithmeticOfOutputs(const Trace& trace) {
  std::vector<std::optional<DataType>> narrowest(trace.values.size());
  for (size_t i = 0; i < trace.values.size(); ++i) {
    const TraceValue& value = trace.values[i];
    if (IsComputed(trace, value) && !value.type.sizes.empty() &&
        DtypeOf(value) != DataType::kFloat64)
      narrowest[i] = DtypeOf(value);
  }
  for (const TraceOp& op : trace.ops) {
    std::optional<DataType> before, arguments;
    for (const ValueId id : Read(op)) {
      before = Narrower(before, narrowest[id]);
      arguments = Narrower(arguments, DtypeOf(trace.values[id]));
    }
    for (const ValueId id : op.results) {
      if (id < 0) continue;
      const TraceValue& result = trace.values[id];
      std::optional<DataType> own = DtypeOf(result);
      if (result.kind == TraceValue::Kind::kOpaque) {
        own = arguments;
      } else if (OnlyMoves(op.name) && Narrower(own, arguments) == arguments) {
        own = std::nullopt;
      }
      narrowest[id] = Narrower(before, own);
    }
  }
  std::vector<std::optional<DataType>> outputs;
  for (const ValueId id : trace.outputs) {
    outputs.push_back(id < 0 ? std::nullopt : narrowest[id]);
    if (id >= 0 && IsComputed(trace, trace.values[id]))
      outputs.back() = ArithmeticOf(trace.values[id]);
  }
  return outputs;
}

}  // namespace aitune::frontend
