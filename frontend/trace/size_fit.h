// Finds formulas for sizes of which a few values are known.
//
// The interpreter runs the model for several combinations of sizes (probes)
// and sees numbers; compiled code needs formulas. Most sizes are polynomials
// of the symbols (batch * length); the rest have one division (a strided
// window). A formula that fits at the probes is only a proposal: shape_check.cc
// and size_decision.cc of frontend/tracing compare it at other sizes.
#ifndef AITUNE_FRONTEND_TRACE_SIZE_FIT_H_
#define AITUNE_FRONTEND_TRACE_SIZE_FIT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "frontend/trace/size_region.h"
#include "runtime/tensor/size_expression.h"

namespace aitune::frontend {

// Points of `region` at which to run the model. They are small, because the
// operators are really run. Sizes of 1 are avoided where the region allows,
// because they broadcast, except in the last probe, in which every symbol that
// may be 1 is 1. Sizes of 8 and more are doubled in one probe, where the region
// allows. One empty point when there are no symbols.
// The least is `lead` elements further from the least sizes of the region, as
// far as it goes.
std::vector<SizePoint> ChooseProbes(const SizeRegion& region, int64_t lead = 0);

// Thread-safe: immutable.
class SizeFitter {
 public:
  // Fits sizes of `region`. `probes` must be points of it.
  SizeFitter(const SizeRegion& region, std::vector<SizePoint> probes);

  // A fitter of the same region for values at other points of it.
  SizeFitter WithProbes(std::vector<SizePoint> probes) const;

  const std::vector<std::vector<int64_t>>& probes() const { return probes_; }

  // The expression whose value at probe i is values[i]. Not set when no
  // expression of the known forms has these values, or more than one; in that
  // case `undecided`, if it is not null, is set to a point of the region whose
  // value tells some of them from others.
  std::optional<SizeExpression> Fit(absl::Span<const int64_t> values,
                                    SizePoint* undecided = nullptr) const;

  // As Fit, for a size that an operator may have made of the sizes `sources`:
  // one of them, their product, or the number of positions of a window that
  // slides over one of them by one of `strides`.
  std::optional<SizeExpression> Fit(absl::Span<const int64_t> values,
                                    absl::Span<const SizeExpression> sources,
                                    absl::Span<const int64_t> strides,
                                    SizePoint* undecided = nullptr) const;

  // A polynomial that equals `expression` in the whole region; `expression`
  // itself if none is found, or it divides and has more sizes than can be
  // looked at.
  SizeExpression Simplify(const SizeExpression& expression) const;

  // Whether `expression` has these values at the probes.
  bool Matches(const SizeExpression& expression,
               absl::Span<const int64_t> values) const;
  // The value of `expression` at each probe.
  std::vector<int64_t> Evaluate(const SizeExpression& expression) const;

  // The symbols that `values`, one for each probe, vary with.
  std::vector<int> DependsOn(absl::Span<const int64_t> values) const;

 private:
  std::optional<SizeExpression> FitCombination(
      absl::Span<const int64_t> values,
      absl::Span<const SizeExpression> terms) const;
  std::optional<SizeExpression> FitPolynomial(
      absl::Span<const int64_t> values) const;
  std::optional<SizeExpression> FitAffine(absl::Span<const int64_t> values,
                                          const SizeExpression& source) const;
  std::optional<SizeExpression> FitSum(
      absl::Span<const int64_t> values,
      absl::Span<const SizeExpression> sources) const;
  // Whether both are known to be the same at all sizes of their symbols.
  bool AreEqual(const SizeExpression& a, const SizeExpression& b) const;
  // The first of the samples at which they differ; null if there is none.
  const SizePoint* FindDifference(const SizeExpression& a,
                                  const SizeExpression& b) const;
  std::optional<SizeExpression> FitQuotient(absl::Span<const int64_t> values,
                                            const SizeExpression& source,
                                            absl::Span<const int64_t> divisors,
                                            SizePoint* undecided) const;

  size_t symbol_count_;
  std::vector<SizePoint> probes_;
  std::shared_ptr<const SizeRegion> region_;
  // Points of the whole region, at which expressions are compared.
  std::shared_ptr<const std::vector<SizePoint>> samples_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_SIZE_FIT_H_
