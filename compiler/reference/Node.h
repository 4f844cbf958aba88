// The values of a kernel as functions of an index, each element computed when
// it is asked for. Private to the room.
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

/// What one computation may still cost (ReferenceOptions::most), in sixteenths.
struct Effort {
  int64_t left = 0;
  bool isSpent() const { return left < 0; }
};

/// A tensor in memory, read through strides in elements.
struct StridedRead {
  const void *data = nullptr;
  DataType dtype = DataType::kFloat32;
  int64_t offset = 0;
  Sizes strides;
};

class Node {
public:
  Node(NumberFormat format, Sizes sizes, Effort &effort);
  virtual ~Node() = default;
  Node(const Node &) = delete;
  Node &operator=(const Node &) = delete;

  /// The element at `index`, one number an axis, each in range.
  Element at(const int64_t *index);
  /// Its value as a double.
  double valueAt(const int64_t *index) { return format.valueOf(at(index)); }
  /// Keeps elements from here on: they will be asked for again.
  void remember();
  /// How memory can be read in its place, if it is nothing but a view of it.
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
  // Of untouched pages nothing is in memory.
  std::unique_ptr<Element[], Free> elements;
  std::unique_ptr<bool[], Free> known;
  std::unordered_map<int64_t, Element> fewElements; ///< of a large tensor
};

/// The error of a value y of a function at arguments with errors, of which it
/// takes `at` the value `moved`.
double difference(double y, double moved);

/// Adds terms that are products, or single numbers: their sum, how far rounding
/// and the errors of the terms may move it.
class Sum {
public:
  void add(double term, double error) {
    total += term;
    magnitude += std::abs(term);
    passedOn += error;
    ++terms;
  }
  void addProduct(const Element &lhs, double left, const Element &rhs,
                  double right) {
    double error = 0;
    if (lhs.error > 0)
      error += lhs.error * (std::abs(right) + rhs.error);
    if (rhs.error > 0)
      error += rhs.error * std::abs(left);
    add(left * right, error);
  }
  /// As it is before it is rounded to the type of a result; `operandUnit` is
  /// what the terms' operands are rounded by first.
  Element result(const NumberFormat &format, double operandUnit = 0) const;

  void addIntegers(int64_t lhs, int64_t rhs) {
    integerTotal += static_cast<uint64_t>(lhs) * static_cast<uint64_t>(rhs);
    ++terms;
  }

  double total = 0, magnitude = 0, passedOn = 0;
  uint64_t integerTotal = 0; ///< modulo 2^64, as integers add
  int64_t terms = 0;
};

/// Adds sum of lhs[.., i, ..] * rhs[.., i, ..] for i < count, where i counts
/// along one axis of each from the given index on. The indices are changed and
/// put back.
void addDotProduct(Node &lhs, int64_t *left, int64_t leftAxis, Node &rhs,
                   int64_t *right, int64_t rightAxis, int64_t count,
                   Effort &effort, Sum &sum);

/// Counts `index` up in row-major order within `sizes`; false at the end.
bool next(llvm::ArrayRef<int64_t> sizes, int64_t *index);

} // namespace aitune::reference

#endif // AITUNE_COMPILER_REFERENCE_NODE_H
