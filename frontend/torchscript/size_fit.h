// Finding the expressions behind sizes that were seen at a few points.
//
// The interpreter runs the model for several combinations of sizes (probes)
// and sees numbers; compiled code needs formulas. Most sizes are polynomials
// of the symbols (batch * length), the rest divide once (a strided window).
// A formula is only accepted when the probes leave no other choice.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_SIZE_FIT_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_SIZE_FIT_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "runtime/tensor/size_expression.h"

namespace aitune::frontend {

// The inclusive range of a symbol.
struct SymbolRange {
  int64_t min = 1, max = 1;
};

// Points to run the model at: probes[p][s] is the size of symbol s. Sizes of 1
// broadcast and are avoided where the range allows; with `include_ones` the
// last probe has every symbol that may be 1 at 1. One empty point when there
// are no symbols.
std::vector<std::vector<int64_t>> ChooseProbes(
    absl::Span<const SymbolRange> ranges, bool include_ones);

// Thread-safe: immutable.
class SizeFitter {
 public:
  // All probes give every symbol a size.
  SizeFitter(std::vector<SymbolRange> ranges,
             std::vector<std::vector<int64_t>> probes);

  int probe_count() const { return static_cast<int>(probes_.size()); }
  const std::vector<std::vector<int64_t>>& probes() const { return probes_; }

  // An expression with these values (one a probe); nothing when there is none
  // of the known forms or more than one.
  std::optional<SizeExpression> Fit(absl::Span<const int64_t> values) const;

  // As Fit, where the size may come from other sizes: one of them, their
  // product, or a window that slides over one by one of `strides`.
  std::optional<SizeExpression> Fit(absl::Span<const int64_t> values,
                                    absl::Span<const SizeExpression> sources,
                                    absl::Span<const int64_t> strides) const;

  // A polynomial equal to `expression` over the ranges, or `expression`.
  SizeExpression Simplify(const SizeExpression& expression) const;

  // Whether `expression` has these values at the probes.
  bool Matches(const SizeExpression& expression,
               absl::Span<const int64_t> values) const;
  std::vector<int64_t> Evaluate(const SizeExpression& expression) const;

  // The symbols that `values` vary with.
  std::vector<int> DependsOn(absl::Span<const int64_t> values) const;

 private:
  std::optional<SizeExpression> FitPolynomial(
      absl::Span<const int64_t> values) const;
  std::optional<SizeExpression> FitAffine(absl::Span<const int64_t> values,
                                          const SizeExpression& source) const;
  std::optional<SizeExpression> FitQuotient(
      absl::Span<const int64_t> values, const SizeExpression& source,
      absl::Span<const int64_t> divisors) const;

  std::vector<SymbolRange> ranges_;
  std::vector<std::vector<int64_t>> probes_;
  std::vector<std::vector<int64_t>>
      samples_;  // of the whole range, to compare expressions
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_SIZE_FIT_H_
