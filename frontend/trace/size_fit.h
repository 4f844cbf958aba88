// Finding the expressions behind sizes that were seen at a few points.
//
// The interpreter runs the model for several combinations of sizes (probes)
// and sees numbers; compiled code needs formulas. Most sizes are polynomials
// of the symbols (batch * length), the rest divide once (a strided window).
// What fits there is a proposal: shape_check.cc and size_decision.cc compare it
// at other sizes.
#ifndef AITUNE_FRONTEND_TRACE_SIZE_FIT_H_
#define AITUNE_FRONTEND_TRACE_SIZE_FIT_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "frontend/trace/size_region.h"
#include "runtime/tensor/size_expression.h"

namespace aitune::frontend {

// Points of `region` to run the model at: small ones, since operators really
// run. Sizes of 1 broadcast and are avoided where the region allows; the last
// probe has every symbol that may be 1 at 1. One empty point when there are no
// symbols.
std::vector<SizePoint> ChooseProbes(const SizeRegion& region);

// Thread-safe: immutable.
class SizeFitter {
 public:
  // For sizes of `region`; the probes are points of it.
  SizeFitter(const SizeRegion& region, std::vector<SizePoint> probes);

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
  // Whether both are equal at the points of the region that are looked at.
  bool SameOnSamples(const SizeExpression& a, const SizeExpression& b) const;
  std::optional<SizeExpression> FitQuotient(
      absl::Span<const int64_t> values, const SizeExpression& source,
      absl::Span<const int64_t> divisors) const;

  size_t symbol_count_;
  std::vector<std::vector<int64_t>> probes_;
  std::vector<std::vector<int64_t>>
      samples_;  // of the whole range, to compare expressions
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_SIZE_FIT_H_
