// Padding with a number or with copies of entries (torch.nn.functional.pad).
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/importer/registry.h"

namespace aitune::frontend {
namespace {

namespace ait = mlir::ait;
using llvm::SmallVector;
using mlir::AffineExpr;
using mlir::Value;

// Padding as ATen gives it: (low, high) pairs from the last axis backwards.
// What depends on sizes is not negative.
struct Padding {
  Sizes low, high;
};

absl::StatusOr<Padding> ReadPadding(OpImporter& call, const char* name,
                                    int64_t rank) {
  AITUNE_ASSIGN_OR_RETURN(const Sizes pad, call.SizeList(name));
  if (pad.size() % 2 != 0 || static_cast<int64_t>(pad.size()) > 2 * rank) {
    return Reject(absl::StrCat("argument '", name, "' has ", pad.size(),
                               " numbers for a tensor of rank ", rank));
  }
  Padding padding;
  padding.low.assign(rank, call.Constant(0));
  padding.high.assign(rank, call.Constant(0));
  for (size_t i = 0; i < pad.size(); ++i) {
    if (!call.StaticSize(pad[i]) &&
        call.state().sizes().Bounds(pad[i]).first < 0) {
      return Reject(absl::StrCat("argument '", name,
                                 "' depends on the sizes of the inputs and may "
                                 "be negative"));
    }
    (i % 2 == 0 ? padding.low : padding.high)[rank - 1 - i / 2] = pad[i];
  }
  return padding;
}

enum class PadMode { kReflect, kReplicate, kCircular };

// Entries of a last axis of `size` entries that repeat in its padding, `count`
// of them, before the axis or after it.
Value RepeatedPart(OpImporter& call, Value value, AffineExpr size,
                   int64_t count, bool is_low, PadMode mode) {
  const int64_t dim = call.RankOf(value) - 1;
  const auto slice = [&](AffineExpr start, int64_t length) {
    return call.Slice(value, dim, start, call.Constant(length));
  };
  const AffineExpr first = call.Constant(0);
  switch (mode) {
    case PadMode::kReflect:
      return call.Reverse(slice(is_low ? first + 1 : size - 1 - count, count),
                          dim);
    case PadMode::kReplicate: {
      Sizes sizes = call.SizesOf(value);
      sizes[dim] = call.Constant(count);
      return call.Expand(slice(is_low ? first : size - 1, 1), sizes);
    }
    case PadMode::kCircular:
      return slice(is_low ? size - count : first, count);
  }
  return Value();
}

// Pads the last axis with copies of parts of it: its neighbours in memory are
// then neighbours in the result, which an index computed for each would hide.
// Null if the axis may not have enough entries.
Value PadByParts(OpImporter& call, Value value, int64_t low, int64_t high,
                 PadMode mode) {
  const int64_t dim = call.RankOf(value) - 1;
  const AffineExpr size = call.SizesOf(value)[dim];
  // On a GPU, parts that begin where a size says are read by an index, too.
  if (call.state().is_for_gpu() && !call.StaticSize(size)) return Value();
  const int64_t least = call.state().sizes().Bounds(size).first;
  // Negative padding removes entries.
  const int64_t begin = std::max<int64_t>(0, -low),
                removed = begin + std::max<int64_t>(0, -high);
  // A reflection leaves the entry at the end out.
  const int64_t most = mode == PadMode::kReflect    ? least - 1
                       : mode == PadMode::kCircular ? least
                                                    : std::max(low, high);
  if (removed >= least || low > most || high > most) return Value();
  SmallVector<Value> parts;
  if (low > 0)
    parts.push_back(RepeatedPart(call, value, size, low, true, mode));
  parts.push_back(removed == 0 ? value
                               : call.Slice(value, dim, call.Constant(begin),
                                            size - removed));
  if (high > 0)
    parts.push_back(RepeatedPart(call, value, size, high, false, mode));
  return parts.size() == 1 ? parts[0] : call.Concat(parts, dim);
}

// Entries of axis `dim` by an index computed from their positions.
Value PadByIndex(OpImporter& call, Value value, int64_t dim, AffineExpr low,
                 AffineExpr high, PadMode mode) {
  const AffineExpr size = call.SizesOf(value)[dim];
  const Sizes padded = {size + low + high};
  const auto full = [&](AffineExpr number) {
    return call.Full(Scalar(number), padded, DataType::kInt64);
  };
  const std::optional<int64_t> start = call.StaticSize(low);
  Value index = call.Iota(padded[0], start ? -*start : 0, 1, DataType::kInt64);
  if (!start) index = call.Subtract(index, full(low));
  const Value last = full(size - 1);
  switch (mode) {
    case PadMode::kReflect:
      index = call.Subtract(last, call.Unary<ait::AbsOp>(call.Subtract(
                                      last, call.Unary<ait::AbsOp>(index))));
      break;
    case PadMode::kReplicate:
      index = call.Binary<ait::MinimumOp>(
          call.Binary<ait::MaximumOp>(index, Scalar(0)), last);
      break;
    case PadMode::kCircular:
      index = call.Binary<ait::RemainderOp>(index, full(size));
      break;
  }
  return call.IndexSelect(value, dim, index);
}

// Along each padded axis by an index, but joins parts of the last one.
Value PadByEntries(OpImporter& call, Value value, const Padding& padding,
                   PadMode mode) {
  for (int64_t dim = 0; dim < call.RankOf(value); ++dim) {
    AffineExpr low = padding.low[dim], high = padding.high[dim];
    std::optional<int64_t> known_low = call.StaticSize(low),
                           known_high = call.StaticSize(high);
    if (mode == PadMode::kCircular &&
        (known_low.value_or(0) < 0 || known_high.value_or(0) < 0)) {
      // What negative padding removes is not repeated on the other side.
      const int64_t first = std::max<int64_t>(0, -known_low.value_or(0)),
                    last = std::max<int64_t>(0, -known_high.value_or(0));
      value = call.Slice(value, dim, call.Constant(first),
                         call.SizesOf(value)[dim] - (first + last));
      low = low + first;
      high = high + last;
      known_low = call.StaticSize(low);
      known_high = call.StaticSize(high);
    }
    if (known_low == 0 && known_high == 0) continue;
    if (dim + 1 == call.RankOf(value) && known_low && known_high) {
      if (Value joined = PadByParts(call, value, *known_low, *known_high, mode))
        return joined;
    }
    value = PadByIndex(call, value, dim, low, high, mode);
  }
  return value;
}

// Axes whose padding depends on sizes are joined with tensors of the number.
Value PadWithNumber(OpImporter& call, Value value, const Padding& padding,
                    double number) {
  SmallVector<int64_t> low, high;
  for (int64_t dim = 0; dim < call.RankOf(value); ++dim) {
    const std::optional<int64_t> known_low = call.StaticSize(padding.low[dim]),
                                 known_high =
                                     call.StaticSize(padding.high[dim]);
    low.push_back(known_low.value_or(0));
    high.push_back(known_high.value_or(0));
    SmallVector<Value> parts = {value};
    const auto added = [&](AffineExpr size) {
      Sizes sizes = call.SizesOf(value);
      sizes[dim] = size;
      return call.Full(Scalar(number), sizes, call.DataTypeOf(value));
    };
    if (!known_low) parts.insert(parts.begin(), added(padding.low[dim]));
    if (!known_high) parts.push_back(added(padding.high[dim]));
    // The number that is known is added outside of the one that is not.
    if (parts.size() > 1) value = call.Concat(parts, dim);
  }
  return call.Pad(value, low, high, number);
}

absl::Status PadWith(OpImporter& call, const char* name,
                     std::optional<PadMode> mode) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(Padding padding,
                          ReadPadding(call, name, call.RankOf(self)));
  if (mode) return call.SetResult(PadByEntries(call, self, padding, *mode));
  double value = 0;
  if (!call.IsNone("value")) {
    AITUNE_ASSIGN_OR_RETURN(value, call.Double("value"));
  }
  return call.SetResult(PadWithNumber(call, self, padding, value));
}

absl::Status BuildPad(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(std::string mode, call.String("mode"));
  if (mode == "constant") return PadWith(call, "pad", std::nullopt);
  if (mode == "reflect") return PadWith(call, "pad", PadMode::kReflect);
  if (mode == "replicate") return PadWith(call, "pad", PadMode::kReplicate);
  if (mode == "circular") return PadWith(call, "pad", PadMode::kCircular);
  return Reject(absl::StrCat("padding mode '", mode, "' is unknown"));
}

}  // namespace

void RegisterPadOps(Registry& registry) {
  registry.Add({"pad"}, BuildPad);
  registry.Add({"constant_pad_nd"}, [](OpImporter& call) {
    return PadWith(call, "pad", std::nullopt);
  });
  registry.Add({"reflection_pad1d", "reflection_pad2d", "reflection_pad3d"},
               [](OpImporter& call) {
                 return PadWith(call, "padding", PadMode::kReflect);
               });
  registry.Add({"replication_pad1d", "replication_pad2d", "replication_pad3d"},
               [](OpImporter& call) {
                 return PadWith(call, "padding", PadMode::kReplicate);
               });
  registry.Add({"_pad_circular"}, [](OpImporter& call) {
    return PadWith(call, "pad", PadMode::kCircular);
  });
}

}  // namespace aitune::frontend
