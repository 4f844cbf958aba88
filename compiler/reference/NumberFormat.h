// What of an element type decides how a number of it is rounded and read.
#ifndef AITUNE_COMPILER_REFERENCE_NUMBERFORMAT_H
#define AITUNE_COMPILER_REFERENCE_NUMBERFORMAT_H

#include <cstdint>
#include <optional>

#include "compiler/reference/Reference.h"
#include "mlir/IR/BuiltinTypes.h"
#include "runtime/tensor/data_type.h"

namespace aitune {

struct NumberFormat {
  DataType dtype = DataType::kFloat32;
  bool isFloat = true;
  /// Bits of an integer, 1 for a bool.
  int bits = 0;
  bool isUnsigned = false;
  /// Bits of a float's significand, the hidden one included.
  int digits = 24;
  /// The most that rounding changes a number by, of the number: as it is
  /// stored, and as arithmetic of this type computes (16-bit types compute in
  /// f32).
  double storeUnit = 0, computeUnit = 0;
  /// The greatest finite number, and a size that is as good as zero: results
  /// below the normal numbers may be flushed or rounded to few digits.
  double greatest = 0, tiny = 0;
  double normal = 0; ///< the least normal number

  /// Nothing for a type that tensors have not.
  static std::optional<NumberFormat> of(mlir::Type elementType);
  /// An element of dense memory of `dtype`.
  static ReferenceElement read(const void *data, DataType dtype, int64_t i);
  bool isBool() const { return !isFloat && bits == 1; }
  bool isNarrow() const { return isFloat && storeUnit > computeUnit; }

  /// The number nearest to `number` with this type's digits.
  double round(double number) const;
  /// Whether it is one of this type's numbers, and no subnormal one that may be
  /// flushed to zero.
  bool holds(double number) const;
  /// The integer that is left of `integer` in this type's bits.
  int64_t wrap(int64_t integer) const;
  /// The value of an element of this type.
  double valueOf(const ReferenceElement &element) const {
    return isFloat ? element.number : static_cast<double>(element.integer);
  }
  /// What a float operation gives whose exact value is `number`: computed with
  /// an error of `units` of the last place of the greater of its size and
  /// `scale`, from operands that make it differ by `passedOn`, and rounded to
  /// this type.
  ReferenceElement rounded(double number, double passedOn, double units,
                           double scale = 0) const;
  /// Where a sum of `count` terms with these magnitudes lies: of its rounding
  /// errors alone, in the type that sums are made in.
  double sumError(double count, double magnitude) const;
};

} // namespace aitune

#endif // AITUNE_COMPILER_REFERENCE_NUMBERFORMAT_H
