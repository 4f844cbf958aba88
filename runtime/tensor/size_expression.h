// Sizes as expressions over the symbols of a model's dynamic axes.
//
// A dynamic axis of an input is a symbol (s0, s1, ...). The sizes of every
// other tensor, the number of work units of a kernel and the bytes of a buffer
// are expressions over those symbols: built at import, carried through the
// compiler as affine maps, stored in plans, and evaluated once for each new
// combination of sizes. The class is immutable, cheap to copy and thread-safe.
#ifndef AITUNE_RUNTIME_TENSOR_SIZE_EXPRESSION_H_
#define AITUNE_RUNTIME_TENSOR_SIZE_EXPRESSION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/types/span.h"

namespace aitune {

class SizeExpression {
 public:
  enum class Kind {
    kConstant,
    kSymbol,
    kAdd,
    kMultiply,
    kFloorDivide,
    kCeilDivide,
    kModulo
  };

  // The constant 0.
  SizeExpression();
  // A constant; implicit, so that static shapes read as lists of numbers.
  SizeExpression(int64_t value);  // NOLINT(google-explicit-constructor)
  // The symbol s`index`; index >= 0.
  static SizeExpression Symbol(int index);
  // kind is one of the five binary kinds. Constants fold; the divisor of
  // kFloorDivide, kCeilDivide and kModulo must not be the constant 0.
  static SizeExpression Binary(Kind kind, SizeExpression lhs,
                               SizeExpression rhs);

  Kind kind() const;
  // The value when the expression is a constant, nothing otherwise.
  std::optional<int64_t> constant() const;
  // Precondition: kind() == kSymbol.
  int symbol() const;
  // Precondition: kind() is binary.
  SizeExpression lhs() const;
  SizeExpression rhs() const;

  // The value with symbols[i] for s`i`. Precondition: symbols covers every
  // symbol used. Division rounds toward negative infinity (or positive, for
  // kCeilDivide), as in MLIR's affine expressions. Arithmetic wraps on
  // overflow and a division by 0 gives 0, so that no input can crash it.
  int64_t Evaluate(absl::Span<const int64_t> symbols) const;

  // For example "(s0 * 128) floordiv 2".
  std::string ToString() const;

  // Structural equality (after folding), not mathematical equality.
  friend bool operator==(const SizeExpression& a, const SizeExpression& b);
  friend bool operator!=(const SizeExpression& a, const SizeExpression& b) {
    return !(a == b);
  }
  friend SizeExpression operator+(const SizeExpression& a,
                                  const SizeExpression& b) {
    return Binary(Kind::kAdd, a, b);
  }
  friend SizeExpression operator*(const SizeExpression& a,
                                  const SizeExpression& b) {
    return Binary(Kind::kMultiply, a, b);
  }

 private:
  struct Node;
  explicit SizeExpression(std::shared_ptr<const Node> node);
  std::shared_ptr<const Node> node_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_TENSOR_SIZE_EXPRESSION_H_
