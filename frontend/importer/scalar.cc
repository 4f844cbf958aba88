#include "frontend/importer/scalar.h"

#include <cmath>
#include <limits>

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "mlir/IR/BuiltinTypes.h"

namespace aitune::frontend {

Scalar::Scalar(mlir::AffineExpr size) : kind_(Kind::kSize), size_(size) {
  if (auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(size)) {
    kind_ = Kind::kInt;
    int_ = constant.getValue();
  }
}

int64_t Scalar::AsInt() const {
  if (kind_ != Kind::kFloat) return int_;
  if (std::isnan(float_)) return 0;
  if (float_ >= 9223372036854775808.0)
    return std::numeric_limits<int64_t>::max();
  if (float_ < -9223372036854775808.0)
    return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(float_);
}

DataType Scalar::WrappedDataType() const {
  switch (kind_) {
    case Kind::kBool:
      return DataType::kBool;
    case Kind::kFloat:
      return DataType::kFloat32;
    default:
      return DataType::kInt64;
  }
}

mlir::TypedAttr Scalar::ToAttribute(mlir::Type element_type) const {
  if (mlir::isa<mlir::FloatType>(element_type))
    return mlir::FloatAttr::get(element_type, AsDouble());
  const unsigned width = mlir::cast<mlir::IntegerType>(element_type).getWidth();
  if (width == 1) {
    const bool value = kind_ == Kind::kFloat ? float_ != 0 : int_ != 0;
    return mlir::IntegerAttr::get(element_type, llvm::APInt(1, value));
  }
  const llvm::APInt bits(64, static_cast<uint64_t>(AsInt()));
  return mlir::IntegerAttr::get(element_type, bits.sextOrTrunc(width));
}

bool Scalar::IsExactIn(DataType dtype) const {
  if (!IsFloatingPoint(dtype)) return kind_ != Kind::kFloat;
  if (kind_ == Kind::kBool || dtype == DataType::kFloat64) return true;
  const double value = AsDouble();
  return std::isnan(value) || RoundedTo(dtype).AsDouble() == value;
}

Scalar Scalar::RoundedTo(DataType dtype) const {
  if (dtype == DataType::kFloat64) return AsDouble();
  const llvm::fltSemantics& semantics =
      dtype == DataType::kFloat16    ? llvm::APFloat::IEEEhalf()
      : dtype == DataType::kBFloat16 ? llvm::APFloat::BFloat()
                                     : llvm::APFloat::IEEEsingle();
  llvm::APFloat number(AsDouble());
  bool loses_information = false;
  number.convert(semantics, llvm::APFloat::rmNearestTiesToEven,
                 &loses_information);
  return number.convertToDouble();
}

}  // namespace aitune::frontend
