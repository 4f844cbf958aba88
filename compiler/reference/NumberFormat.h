// How numbers of an element type are read from memory and rounded. Thread-safe.
#ifndef AITUNE_COMPILER_REFERENCE_NUMBERFORMAT_H
#define AITUNE_COMPILER_REFERENCE_NUMBERFORMAT_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "compiler/reference/Reference.h"
#include "mlir/IR/BuiltinTypes.h"
#include "runtime/tensor/data_type.h"

namespace aitune {

/// The format of an element type.
struct NumberFormat {
  DataType dtype = DataType::kFloat32;
  bool isFloat = true;
  int bits = 0;            ///< the number of bits of an integer; 1 for a bool
  bool isUnsigned = false; ///< whether it is ui8 or bool
  /// The number of bits of a float's significand, with the hidden one.
  int digits = 24;
  /// The greatest relative change by which rounding changes a float: when it is
  /// stored, and in arithmetic (types of 16 and 8 bits compute in f32).
  double storeUnit = 0, computeUnit = 0;
  double greatest = 0; ///< the greatest finite number
  /// The greatest absolute error of a result below the normal numbers, which
  /// code may flush to zero or round to few digits.
  double tiny = 0;
  double normal = 0; ///< the least positive normal number

  /// The format of `elementType`; not set if no dtype has this type.
  static std::optional<NumberFormat> of(mlir::Type elementType);
  /// Element `i` of dense memory of `dtype`, without an error.
  static ReferenceElement read(const void *data, DataType dtype, int64_t i);
  bool isBool() const { return !isFloat && bits == 1; }
  /// Whether storing rounds more than arithmetic does.
  bool isNarrow() const { return isFloat && storeUnit > computeUnit; }

  /// The number with this type's digits, and any exponent, nearest to `number`.
  double round(double number) const;
  /// Whether `number` is a number of this type that code does not flush to
  /// zero, as it may flush subnormal ones of f64, f32 and bf16.
  bool holds(double number) const;
  /// `integer` modulo 2 to the number of this type's bits, as a number of it.
  int64_t wrap(int64_t integer) const;
  /// The value of an element of this type.
  double valueOf(const ReferenceElement &element) const {
    return isFloat ? element.number : static_cast<double>(element.integer);
  }
  /// The size of a number of this type as tensor cores align it: subnormal
  /// numbers have the exponent of the least normal one.
  double alignedSize(double number) const {
    const double size = std::abs(number);
    return isFloat && number != 0 ? std::max(size, normal) : size;
  }
  /// The result of a float operation with the exact value `number`, rounded to
  /// this type. Its error is the sum of `passedOn`, by which the operands'
  /// errors change it; `units` times computeUnit of the greater of |number| and
  /// `scale`, for the operation; and the rounding.
  ReferenceElement rounded(double number, double passedOn, double units,
                           double scale = 0) const;
  /// The bound of the rounding errors of a sum of `count` terms whose absolute
  /// values add up to `magnitude`, in the type in which sums are computed.
  double sumError(double count, double magnitude) const;
};

} // namespace aitune

#endif // AITUNE_COMPILER_REFERENCE_NUMBERFORMAT_H
