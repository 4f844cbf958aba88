#include "frontend/check/verification.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/check/accuracy.h"
#include "frontend/check/dense_numbers.h"
#include "frontend/check/distance.h"
#include "frontend/check/evidence.h"

namespace aitune::frontend {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Significant bits of a floating-point dtype; 0 for others.
int SignificantBits(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat64:
      return 53;
    case DataType::kFloat32:
      return 24;
    case DataType::kFloat16:
      return 11;
    case DataType::kBFloat16:
      return 8;
    default:
      return 0;
  }
}

// Elements of eager's that differ from the reference's, from which on their
// number says how uncertain eager is.
constexpr int64_t kFewErrors = 4;

// Whether ours, of integers, is much nearer to the reference than eager: at
// most half as many elements differ, none of them by more than eager's do.
bool IsMuchNearer(const at::Tensor& ours, const at::Tensor& eager,
                  const at::Tensor& reference) {
  const auto our_errors = ours.ne(reference).sum().item<int64_t>(),
             eager_errors = eager.ne(reference).sum().item<int64_t>();
  if (eager_errors < kFewErrors || 2 * our_errors > eager_errors) return false;
  const auto farthest = [&](const at::Tensor& output) {
    return (output.to(at::kDouble) - reference.to(at::kDouble))
        .abs()
        .max()
        .item<double>();
  };
  return farthest(ours) <= farthest(eager);
}

Comparison CompareExact(const at::Tensor& ours, const at::Tensor& eager,
                        const at::Tensor* reference) {
  Comparison result;
  auto evidence = std::make_shared<Evidence>();
  evidence->differs = ours.ne(eager);
  evidence->wrong = evidence->differs;
  if (reference != nullptr && reference->sizes() == eager.sizes() &&
      reference->scalar_type() == eager.scalar_type()) {
    evidence->wrong =
        evidence->wrong.logical_and(reference->ne(eager).logical_not());
    if (ours.sizes() == eager.sizes() && IsMuchNearer(ours, eager, *reference))
      evidence->wrong = at::zeros_like(evidence->wrong);
  }
  evidence->ours = ours;
  evidence->eager = eager;
  result.evidence = std::move(evidence);
  Finish(result);
  return result;
}

DataType DataTypeOf(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return DataType::kFloat64;
    case at::kHalf:
      return DataType::kFloat16;
    case at::kBFloat16:
      return DataType::kBFloat16;
    default:
      return DataType::kFloat32;
  }
}

// The dtype that decides on the limits of a floating-point output.
DataType Arithmetic(at::ScalarType dtype, const ComparisonOptions& options) {
  return *Narrower(DataTypeOf(dtype), options.arithmetic);
}

// What results of a dtype may lose without being wrong: numbers below the
// smallest normal one of float32, which instructions that convert to bfloat16
// take for 0 (vcvtneps2bf16, Intel's manual) and LibTorch does not.
double LostNumbers(at::ScalarType dtype) {
  const bool is_float = dtype == at::kFloat || dtype == at::kBFloat16;
  return is_float ? std::numeric_limits<float>::min() : 0;
}

// The elements' errors to `truth`: the reference or, without one, eager.
void MeasureElements(const at::Tensor& ours, const at::Tensor& eager,
                     const at::Tensor& truth, const at::Tensor& mask,
                     double near, double lost, Evidence& evidence) {
  const at::Tensor medians = LocalMedians(truth, mask);
  const NeighbourhoodErrors mine = ErrorsTo(truth, medians, ours, mask, lost);
  evidence.our_errors = mine.largest;
  evidence.eager_errors = ErrorsTo(truth, medians, eager, mask, lost).largest;
  evidence.near = ErrorsTo(eager, LocalMedians(eager, mask), ours, mask, lost)
                      .largest.le(near);
  evidence.worst =
      absl::StrCat("the worst at ", DescribeElement(mine.worst, ours, eager));
}

// The largest finite number of an IEEE dtype or bfloat16; infinity of others.
double LargestNumber(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return std::numeric_limits<double>::max();
    case at::kFloat:
      return std::numeric_limits<float>::max();
    case at::kHalf:
      return std::numeric_limits<c10::Half>::max();
    case at::kBFloat16:
      return std::numeric_limits<c10::BFloat16>::max();
    default:
      return kInfinity;
  }
}

// Says where `a`, ours, is not finite and `b`, eager's, is not so too; empty if
// nowhere. Where `c`, the reference, is defined and differs from eager, ours
// may be either, and with `finite_as_reference` must be finite where `c` is.
// `exact` is the reference before it was rounded.
std::string FindNonFinite(const at::Tensor& a, const at::Tensor& b,
                          const at::Tensor& c, const at::Tensor& exact,
                          const ComparisonOptions& options) {
  const at::Tensor not_finite = a.isfinite().logical_not(),
                   eager_not_finite = b.isfinite().logical_not();
  at::Tensor wrong = not_finite.logical_and(eager_not_finite.logical_not());
  // A quantised model may have one scale for all rows of a tensor, which is not
  // finite if one number is. What codes beside such a scale mean is not fixed:
  // NaN or either infinity.
  if (options.bound && eager_not_finite.any().item<bool>())
    wrong = at::zeros_like(wrong);
  const at::Tensor must_match =
      c.defined() ? SameNonFinite(b, c) : eager_not_finite;
  const at::Tensor matches = options.bound ? not_finite : SameNonFinite(a, b);
  wrong = wrong.logical_or(must_match.logical_and(matches.logical_not()));
  // Neither is a number, and they are not alike: ours is as one of them.
  if (c.defined())
    wrong = wrong.logical_or(
        eager_not_finite.logical_and(exact.isfinite().logical_not())
            .logical_and(
                matches.logical_or(SameNonFinite(a, exact)).logical_not()));
  if (c.defined() && options.finite_as_reference)
    wrong = wrong.logical_or(not_finite.logical_and(c.isfinite()));
  return wrong.any().item<bool>() ? absl::StrCat("NaN or infinity differs in ",
                                                 DescribeFirst(wrong, a, b))
                                  : "";
}

}  // namespace

bool AllAgree(absl::Span<const Comparison> outputs) {
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const Comparison& output) { return output.agrees; });
}

std::optional<DataType> Narrower(std::optional<DataType> a,
                                 std::optional<DataType> b) {
  const int a_bits = a ? SignificantBits(*a) : 0;
  const int b_bits = b ? SignificantBits(*b) : 0;
  if (b_bits == 0) return a_bits == 0 ? std::nullopt : a;
  return a_bits == 0 || b_bits < a_bits ? b : a;
}

Tolerance DefaultTolerance(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat64:
      return {1e-9, 2, 1e-12};
    case DataType::kFloat32:
      return {1e-4, 4, 1e-5};
    case DataType::kFloat16:
      return {1e-2, 2, std::ldexp(1.0, -9)};
    case DataType::kBFloat16:
      return {8e-2, 2, std::ldexp(1.0, -6)};
    default:
      return {};
  }
}

Comparison CompareTensors(const at::Tensor& ours, const at::Tensor& eager,
                          const at::Tensor* reference,
                          const ComparisonOptions& options) {
  Comparison result;
  result.max_error = kInfinity;
  if (ours.scalar_type() != eager.scalar_type()) {
    result.problem =
        absl::StrCat("dtype ", at::toString(ours.scalar_type()), ", eager ",
                     at::toString(eager.scalar_type()));
    return result;
  }
  if (StorageText(ours) != StorageText(eager)) {
    result.problem = absl::StrCat("layout ", StorageText(ours), ", eager ",
                                  StorageText(eager));
    return result;
  }
  if (SizesText(ours) != SizesText(eager)) {
    result.problem =
        absl::StrCat("shape ", SizesText(ours), ", eager ", SizesText(eager));
    return result;
  }
  if (!IsDenseNumbers(eager)) {
    at::Tensor numbers;
    if (reference != nullptr) numbers = DenseNumbers(*reference);
    return CompareTensors(DenseNumbers(ours), DenseNumbers(eager),
                          numbers.defined() ? &numbers : nullptr, options);
  }
  if (!at::isFloatingType(eager.scalar_type()) && options.bound) {
    result.max_error = 0;
    result.problem = MissedBound(AccuracyOf(ours, eager), *options.bound);
    result.agrees = result.problem.empty();
    if (!result.agrees) result.differing = ours.ne(eager).sum().item<int64_t>();
    return result;
  }
  if (!at::isFloatingType(eager.scalar_type()))
    return CompareExact(ours, eager, reference);

  const DataType arithmetic = Arithmetic(eager.scalar_type(), options);
  const bool low_precision = IsHalf(arithmetic);
  result.limits = DefaultTolerance(arithmetic);
  result.limits.relative = options.relative.value_or(result.limits.relative);
  const at::Tensor a = ours.to(at::kDouble).contiguous(),
                   b = eager.to(at::kDouble).contiguous();
  at::Tensor exact, c;
  if (reference != nullptr && reference->sizes() == eager.sizes()) {
    exact = reference->to(at::kDouble).contiguous();
    // Rounded to the output's dtype: both of the others are.
    c = exact.to(eager.scalar_type()).to(at::kDouble);
  }
  const bool equal = AreEqual(a, b);
  const bool finite =
      IsFinite(a) && IsFinite(b) && (!c.defined() || IsFinite(c));

  // Non-finite values first: they have no distance.
  if (!finite) {
    result.problem = FindNonFinite(a, b, c, exact, options);
    result.other_non_finite = !result.problem.empty();
    if (result.other_non_finite) return result;
  }
  const at::Tensor both = finite ? at::ones(a.sizes(), at::kBool)
                                 : a.isfinite().logical_and(b.isfinite());
  const at::Tensor mask =
      finite || !c.defined() ? both : both.logical_and(c.isfinite());
  result.max_error = RelativeError(a, b, both);
  if (options.bound) {
    const Accuracy accuracy = equal ? Accuracy() : AccuracyOf(a, b);
    result.cosine = accuracy.cosine;
    result.problem = MissedBound(accuracy, *options.bound);
    result.agrees = result.problem.empty();
    return result;
  }
  auto evidence = std::make_shared<Evidence>();
  evidence->whole = result.max_error <= result.limits.relative;
  if (c.defined()) {
    result.our_reference_error = RelativeError(a, c, mask);
    result.eager_reference_error = RelativeError(b, c, mask);
    result.our_reference_rms = RelativeRms(a, exact, mask);
    result.eager_reference_rms = RelativeRms(b, exact, mask);
    // A tolerance that the user gave is strict.
    if (!options.relative)
      evidence->whole = IsClose(result) || (evidence->whole && !low_precision);
    // Where only eager is not finite, there is no distance of eager to compare
    // the distance of ours with. A reference beyond the dtype's range is as far
    // as its largest number: ours may have been rounded to that.
    const double largest = LargestNumber(eager.scalar_type());
    const double error =
        finite ? 0
               : RelativeError(a, exact.clamp(-largest, largest),
                               a.isfinite()
                                   .logical_and(exact.isfinite())
                                   .logical_and(b.isfinite().logical_not()));
    if (error > result.limits.relative) {
      result.max_error = kInfinity;
      result.problem = absl::StrFormat(
          "error %.3g to the higher-precision reference, where eager alone is "
          "not finite, exceeds %.3g",
          error, result.limits.relative);
      return result;
    }
  }
  result.agrees = equal || (options.relative && evidence->whole);
  if (result.agrees || eager.numel() == 0) {
    result.agrees = true;
    return result;
  }
  if (options.relative) {
    result.problem = WholeProblem(result);
    return result;
  }
  // In low precision, if there is a reference, the distance to eager says
  // nothing.
  MeasureElements(a, b, c.defined() ? c : b, mask,
                  c.defined() && low_precision
                      ? 0
                      : kElementFactor * result.limits.relative,
                  LostNumbers(eager.scalar_type()), *evidence);
  result.evidence = std::move(evidence);
  Finish(result);
  return result;
}

}  // namespace aitune::frontend
