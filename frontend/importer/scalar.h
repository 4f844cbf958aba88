// A number argument of an operator: Python's bool, int or float, or an int
// that is an expression over the model's symbols.
#ifndef AITUNE_FRONTEND_IMPORTER_SCALAR_H_
#define AITUNE_FRONTEND_IMPORTER_SCALAR_H_

#include <cstdint>

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "runtime/tensor/data_type.h"

namespace aitune::frontend {

class Scalar {
 public:
  enum class Kind { kBool, kInt, kFloat, kSize };

  // Implicit, so that builders can write numbers where a Scalar is wanted.
  Scalar(bool value)
      : kind_(Kind::kBool),
        int_(value) {}  // NOLINT(google-explicit-constructor)
  Scalar(int value)
      : kind_(Kind::kInt),
        int_(value) {}  // NOLINT(google-explicit-constructor)
  Scalar(int64_t value)
      : kind_(Kind::kInt),
        int_(value) {}  // NOLINT(google-explicit-constructor)
  Scalar(double value)
      : kind_(Kind::kFloat),
        float_(value) {}  // NOLINT(google-explicit-constructor)
  // An int; of kind kInt when the expression is constant.
  Scalar(mlir::AffineExpr size);  // NOLINT(google-explicit-constructor)

  Kind kind() const { return kind_; }
  // Whether the value is known at import (any kind but kSize).
  bool is_static() const { return kind_ != Kind::kSize; }
  // The value as a float. Precondition: is_static().
  double AsDouble() const {
    return kind_ == Kind::kFloat ? float_ : static_cast<double>(int_);
  }
  // The value truncated to an int, limited to int64's range; NaN gives 0.
  // Precondition: is_static().
  int64_t AsInt() const;
  // Precondition: kind() == kSize.
  mlir::AffineExpr size() const { return size_; }

  // The dtype of a tensor made of the number: bool, int64 or float32.
  DataType WrappedDataType() const;

  // The number as an attribute of `element_type`, converted as ATen does
  // (truncated to integers, != 0 to bool). Precondition: is_static().
  mlir::TypedAttr ToAttribute(mlir::Type element_type) const;

  // Whether `dtype` holds the number without rounding.
  // Precondition: is_static().
  bool IsExactIn(DataType dtype) const;

  // The number of a floating `dtype` that is nearest, ties to even; infinity
  // beyond its range. Precondition: is_static().
  Scalar RoundedTo(DataType dtype) const;

 private:
  Kind kind_;
  int64_t int_ = 0;
  double float_ = 0;
  mlir::AffineExpr size_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_IMPORTER_SCALAR_H_
