#include "frontend/importer/index_positions.h"

#include "absl/strings/str_cat.h"

namespace aitune::frontend {

using mlir::Value;

absl::StatusOr<Value> ToIndex(OpImporter& call, Value index) {
  const DataType dtype = call.DataTypeOf(index);
  if (IsFloatingPoint(dtype) || dtype == DataType::kBool) {
    return Reject(absl::StrCat("an index of dtype ", std::string(Name(dtype)),
                               " is not supported"));
  }
  return dtype == DataType::kInt32 ? index
                                   : call.Convert(index, DataType::kInt64);
}

Value PositionsInMergedAxes(OpImporter& call, llvm::ArrayRef<Value> indices,
                            llvm::ArrayRef<mlir::AffineExpr> sizes) {
  Sizes common;
  for (Value index : indices)
    common = call.BroadcastSizes(common, call.SizesOf(index));
  // ((i0 * size1) + i1) * size2 + i2 ...
  Value position;
  for (size_t i = 0; i < indices.size(); ++i) {
    // Each in its own axis: the merged one would take an index that is too
    // great for another row's.
    Value index = call.CheckIndex(indices[i], sizes[i], /*from_end=*/true);
    if (position) {
      Value scale =
          call.Full(Scalar(sizes[i]), call.SizesOf(position), DataType::kInt64);
      index = call.Add(call.Multiply(position, scale), index);
    }
    position = index;
  }
  return call.Expand(position, common);
}

}  // namespace aitune::frontend
