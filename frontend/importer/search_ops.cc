// Places in sorted sequences, by the steps of LibTorch's binary search: the
// result is eager's also where the sequence holds NaN or is not sorted.
#include "absl/strings/str_cat.h"
#include "frontend/importer/registry.h"
#include "frontend/importer/type_promotion.h"

namespace aitune::frontend {
namespace {

namespace ait = mlir::ait;
using mlir::Value;

// Each doubling of the sequence is one more step of the kernel: four
// operations and a gather.
constexpr int64_t kMaxSearched = 4096;

// For each of `values` the number of entries of `boundaries`, of rank 1, that
// come before it; with `right` also those that are equal to it.
absl::StatusOr<Value> Search(OpImporter& call, Value boundaries, Value values,
                             bool right) {
  const std::optional<int64_t> size =
      call.StaticSize(call.SizesOf(boundaries)[0]);
  if (!size || *size > kMaxSearched) {
    return Reject(
        absl::StrCat("searching is supported in static sequences of up to ",
                     kMaxSearched, " entries"));
  }
  const DataType dtype =
      PromoteTypes(call.DataTypeOf(boundaries), call.DataTypeOf(values));
  if (dtype != call.DataTypeOf(boundaries) && call.RankOf(values) == 0)
    return Reject("a number of another dtype than the sequence");
  boundaries = call.Convert(boundaries, dtype);
  values = call.Convert(values, dtype);
  const Sizes sizes = call.SizesOf(values);
  values = call.Reshape(values, {call.Product(sizes)});
  Value low = call.Full(Scalar(0), call.SizesOf(values), DataType::kInt64);
  Value high = call.Full(Scalar(*size), call.SizesOf(values), DataType::kInt64);
  // The place is between low and high, which lie `rest` or fewer apart.
  for (int64_t rest = *size; rest > 0; rest /= 2) {
    Value middle =
        call.Binary<ait::FloorDivideOp>(call.Add(low, high), Scalar(2));
    // Where low and high have met, the middle may be behind the last entry.
    Value found = call.IndexSelect(
        boundaries, 0, call.Binary<ait::MinimumOp>(middle, Scalar(*size - 1)));
    // NaN is never reached: it comes after all numbers.
    Value reached = right ? call.Compare<ait::GtOp>(found, values)
                          : call.Compare<ait::GeOp>(found, values);
    Value is_open = call.Compare<ait::LtOp>(low, high);
    Value goes_up =
        call.Binary<ait::BitwiseAndOp>(is_open, call.LogicalNot(reached));
    low = call.Where(goes_up, call.Add(middle, int64_t{1}), low);
    high = call.Where(call.Binary<ait::BitwiseAndOp>(is_open, reached), middle,
                      high);
  }
  return call.Reshape(low, sizes);
}

absl::Status BuildBucketize(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value boundaries, call.Tensor("boundaries"));
  AITUNE_ASSIGN_OR_RETURN(Operand self, call.TensorOrNumber("self"));
  AITUNE_ASSIGN_OR_RETURN(bool right, call.Bool("right"));
  if (!self.tensor) return Reject("a number is searched for");
  AITUNE_ASSIGN_OR_RETURN(Value places,
                          Search(call, boundaries, self.tensor, right));
  return call.SetResult(places);
}

absl::Status BuildSearchSorted(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value sequence, call.Tensor("sorted_sequence"));
  AITUNE_ASSIGN_OR_RETURN(Operand self, call.TensorOrNumber("self"));
  AITUNE_ASSIGN_OR_RETURN(bool right, call.Bool("right"));
  if (!self.tensor) return Reject("a number is searched for");
  if (!call.IsNone("sorter")) return Reject("a sorter is not supported");
  if (!call.IsNone("side")) {
    AITUNE_ASSIGN_OR_RETURN(std::string side, call.String("side"));
    right = side == "right";
  }
  if (call.RankOf(sequence) != 1)
    return Reject("a sequence for each row is not supported");
  AITUNE_ASSIGN_OR_RETURN(Value places,
                          Search(call, sequence, self.tensor, right));
  return call.SetResult(places);
}

}  // namespace

void RegisterSearchOps(Registry& registry) {
  registry.Add({"bucketize"}, BuildBucketize);
  registry.Add({"searchsorted"}, BuildSearchSorted);
}

}  // namespace aitune::frontend
