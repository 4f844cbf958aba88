// The tensors of a kernel as functions of an index: an element is computed when
// it is asked for. For the files of this folder only. Not thread-safe.
#ifndef AITUNE_COMPILER_REFERENCE_NODE_H
#define AITUNE_COMPILER_REFERENCE_NODE_H

#include <cmath>
#include <cstdlib>
#include <memory>
#include <optional>
#include <unordered_map>

#include "compiler/reference/NumberFormat.h"
#include "compiler/reference/Reference.h"
#include "llvm/ADT/SmallVector.h"

namespace aitune::reference {

using Element = ReferenceElement;
using Sizes = llvm::SmallVector<int64_t, 6>;

/// The elements that a computation may still compute (ReferenceOptions::most).
struct Effort {
  int64_t left = 0; ///< sixteenths of an element
  bool isSpent() const { return left < 0; }
};

/// A tensor in memory that is read through strides.
struct StridedRead {
  const void *data = nullptr;
  DataType dtype = DataType::kFloat32;
  int64_t offset = 0; ///< the first element's place, in elements from `data`
  Sizes strides;      ///< the stride of each axis, in elements
};

class Node {
public:
  Node(NumberFormat format, Sizes sizes, Effort &effort);
  virtual ~Node() = default;
  Node(const Node &) = delete;
  Node &operator=(const Node &) = delete;

  /// The element at `index`, which has a number for each axis, in range. With
  /// an infinite error if the effort is spent.
  Element at(const int64_t *index);
  /// The value of the element at `index`.
  double valueAt(const int64_t *index) { return format.valueOf(at(index)); }
  /// Keeps computed elements from here on, because they will be asked for
  /// again.
  void remember();
  /// Whether to compute an element takes longer than to find it again: not of
  /// views and fills.
  virtual bool isWorthRemembering() const { return true; }
  /// The memory that has the elements, if the tensor is a view of memory.
  virtual std::optional<StridedRead> strided() { return std::nullopt; }

  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  int64_t count() const;
  /// The position of `index` in row-major order, and the inverse.
  int64_t flatten(const int64_t *index) const;
  void unflatten(int64_t position, int64_t *index) const;

  const NumberFormat format;
  const Sizes sizes;

protected:
  virtual Element compute(const int64_t *index) = 0;
  Effort &effort;

private:
  struct Free {
    void operator()(void *memory) const { std::free(memory); }
  };
  bool remembers = false;
  // From calloc, so that pages that are never written take no memory.
  std::unique_ptr<Element[], Free> elements;
  std::unique_ptr<bool[], Free> known;
  /// The elements that a large tensor has so far.
  std::unordered_map<int64_t, Element> fewElements;
};

/// The distance between the value `y` of a function and its value `moved` at
/// arguments that differ by their errors; 0 if both are NaN, infinite if one
/// is.
double difference(double y, double moved);

/// A sum of numbers or products, with the bound by which rounding and the
/// errors of the terms may change it.
class Sum {
public:
  void add(double term, double error) {
    total += term;
    magnitude += std::abs(term);
    passedOn += error;
    ++terms;
  }
  /// The product of two elements of these formats.
  void addProduct(const NumberFormat &leftFormat, const Element &lhs,
                  const NumberFormat &rightFormat, const Element &rhs) {
    const double left = leftFormat.valueOf(lhs),
                 right = rightFormat.valueOf(rhs);
    double error = 0;
    if (lhs.error > 0)
      error += lhs.error * (std::abs(right) + rhs.error);
    if (rhs.error > 0)
      error += rhs.error * std::abs(left);
    add(left * right, error);
    aligned += leftFormat.alignedSize(left) * rightFormat.alignedSize(right);
  }
  /// The sum before it is rounded to the element type of a result.
  /// `operandUnit` is the greatest relative change by which the terms' operands
  /// are rounded before they are multiplied.
  Element result(const NumberFormat &format, double operandUnit = 0) const;

  void addIntegers(int64_t lhs, int64_t rhs) {
    integerTotal += static_cast<uint64_t>(lhs) * static_cast<uint64_t>(rhs);
    ++terms;
  }

  double total = 0;     ///< the sum of the terms
  double magnitude = 0; ///< the sum of the terms' absolute values
  /// The sum of the operands' products of NumberFormat::alignedSize, where the
  /// terms are products.
  double aligned = 0;
  double passedOn = 0;       ///< the sum of the terms' errors
  uint64_t integerTotal = 0; ///< the sum of integer products, modulo 2^64
  int64_t terms = 0;         ///< the number of terms
};

/// Adds the products lhs[left] * rhs[right] to `sum`, `count` of them, where
/// left[leftAxis] and right[rightAxis] increase by 1 from one to the next.
/// `left` and `right` have their first values again afterwards.
void addDotProduct(Node &lhs, int64_t *left, int64_t leftAxis, Node &rhs,
                   int64_t *right, int64_t rightAxis, int64_t count,
                   Effort &effort, Sum &sum);

/// Moves `index` to the next one in row-major order within `sizes`; false if it
/// was the last one.
bool next(llvm::ArrayRef<int64_t> sizes, int64_t *index);

} // namespace aitune::reference

#endif // AITUNE_COMPILER_REFERENCE_NODE_H
