#include "compiler/dialect/ElementTypes.h"

#include "llvm/Support/ErrorHandling.h"

using aitune::DataType;

namespace mlir::ait {

Type toElementType(DataType dtype, MLIRContext *context) {
  switch (dtype) {
  case DataType::kFloat32:
    return Float32Type::get(context);
  case DataType::kFloat64:
    return Float64Type::get(context);
  case DataType::kFloat16:
    return Float16Type::get(context);
  case DataType::kBFloat16:
    return BFloat16Type::get(context);
  case DataType::kInt64:
    return IntegerType::get(context, 64);
  case DataType::kInt32:
    return IntegerType::get(context, 32);
  case DataType::kInt16:
    return IntegerType::get(context, 16);
  case DataType::kInt8:
    return IntegerType::get(context, 8);
  case DataType::kUInt8:
    return IntegerType::get(context, 8, IntegerType::Unsigned);
  case DataType::kBool:
    return IntegerType::get(context, 1);
  case DataType::kFloat8E4M3Fn:
    return Float8E4M3FNType::get(context);
  }
  llvm_unreachable("every DataType is handled above");
}

bool isHalf(Type type) { return type.isF16() || type.isBF16(); }

bool isFloatCode(Type type) { return isa<Float8E4M3FNType>(type); }

std::optional<DataType> toDataType(Type type) {
  if (type.isF32())
    return DataType::kFloat32;
  if (type.isF64())
    return DataType::kFloat64;
  if (type.isF16())
    return DataType::kFloat16;
  if (type.isBF16())
    return DataType::kBFloat16;
  if (isa<Float8E4M3FNType>(type))
    return DataType::kFloat8E4M3Fn;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  if (integer.isUnsigned())
    return integer.getWidth() == 8 ? std::optional(DataType::kUInt8)
                                   : std::nullopt;
  switch (integer.getWidth()) {
  case 64:
    return DataType::kInt64;
  case 32:
    return DataType::kInt32;
  case 16:
    return DataType::kInt16;
  case 8:
    return DataType::kInt8;
  case 1:
    return DataType::kBool;
  default:
    return std::nullopt;
  }
}

} // namespace mlir::ait
