#include "frontend/importer/type_promotion.h"

namespace aitune::frontend {
namespace {

using Optional = std::optional<DataType>;

Optional Merge(Optional a, DataType b) { return a ? PromoteTypes(*a, b) : b; }

Optional Combine(Optional higher, Optional lower) {
  if (!higher) return lower;
  if (!lower || IsFloatingPoint(*higher)) return higher;
  if (*higher == DataType::kBool || IsFloatingPoint(*lower))
    return PromoteTypes(*higher, *lower);
  return higher;
}

}  // namespace

DataType PromoteTypes(DataType a, DataType b) {
  if (a == b) return a;
  if (a == DataType::kBool) return b;
  if (b == DataType::kBool) return a;
  if (IsFloatingPoint(a) != IsFloatingPoint(b))
    return IsFloatingPoint(a) ? a : b;
  if (SizeInBytes(a) != SizeInBytes(b))
    return SizeInBytes(a) > SizeInBytes(b) ? a : b;
  // Two of one width: float16 and bfloat16, or int8 and uint8.
  return IsFloatingPoint(a) ? DataType::kFloat32 : DataType::kInt16;
}

bool MayExceed(DataType from, DataType to) {
  if (from == to || from == DataType::kBool || to == DataType::kBool)
    return false;
  if (!IsFloatingPoint(to))
    return IsFloatingPoint(from) || PromoteTypes(from, to) != to;
  if (!IsFloatingPoint(from))
    return to == DataType::kFloat16 && SizeInBytes(from) > 2;
  return SizeInBytes(from) > SizeInBytes(to) ||
         (from == DataType::kBFloat16 && to == DataType::kFloat16);
}

void ResultTypeRule::AddTensor(DataType dtype, bool has_axes) {
  Optional& slot = has_axes ? with_axes_ : rank_zero_;
  slot = Merge(slot, dtype);
}

void ResultTypeRule::AddNumber(DataType wrapped) {
  number_ = Merge(number_, wrapped);
}

DataType ResultTypeRule::Result() const {
  return *Combine(with_axes_, Combine(rank_zero_, number_));
}

}  // namespace aitune::frontend
