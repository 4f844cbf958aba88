// A condition on the sizes of a model's dynamic axes, such as "s0 >= 21" or
// "s0 mod 8 == 0".
//
// A program that asks for a size (`if x.size(0) > 20`, `x[:64]`) is traced
// along one branch. The trace is right only for the sizes that take the same
// branch, as the graphs of torch.compile are with its guards on symbols. The
// conditions that describe these sizes are kept with the compiled code and
// tested at every call.
#ifndef AITUNE_RUNTIME_TENSOR_SIZE_CONSTRAINT_H_
#define AITUNE_RUNTIME_TENSOR_SIZE_CONSTRAINT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/tensor/size_expression.h"

namespace aitune {

struct SizeConstraint {
  // What the value of the expression must be.
  enum class Relation { kZero, kNonZero, kNonNegative };

  SizeExpression expression;  // the value that is tested, in elements
  Relation relation = Relation::kNonNegative;

  // Whether the condition holds when s`i` is symbols[i]. Precondition:
  // `symbols` covers every symbol of the expression. Thread-safe.
  bool Holds(absl::Span<const int64_t> symbols) const;

  // For example "s0 + -21 >= 0".
  std::string ToString() const;

  friend bool operator==(const SizeConstraint& a, const SizeConstraint& b) {
    return a.relation == b.relation && a.expression == b.expression;
  }
};

// `expression` with replacements[i] in place of the symbol s`i`. Precondition:
// `replacements` covers every symbol of the expression.
SizeExpression Substitute(const SizeExpression& expression,
                          absl::Span<const SizeExpression> replacements);

// The symbols that `expression` reads, ascending, each once.
std::vector<int> SymbolsOf(const SizeExpression& expression);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_TENSOR_SIZE_CONSTRAINT_H_
