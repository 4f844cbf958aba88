#include "frontend/session/verification.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "frontend/session/pytree.h"

namespace aitune::frontend {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tolerance ToleranceOf(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return DefaultTolerance(DataType::kFloat64);
    case at::kFloat:
      return DefaultTolerance(DataType::kFloat32);
    case at::kHalf:
      return DefaultTolerance(DataType::kFloat16);
    case at::kBFloat16:
      return DefaultTolerance(DataType::kBFloat16);
    default:
      return {};
  }
}

// Where `a` and `b` are not finite in the same way: both NaN, or equal
// infinities.
at::Tensor SameNonFinite(const at::Tensor& a, const at::Tensor& b) {
  return a.isnan().logical_and(b.isnan()).logical_or(
      a.isinf().logical_and(a.eq(b)));
}

// max |a - b| / max(|b|, root mean square of b) where both are finite.
double RelativeError(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor finite = a.isfinite().logical_and(b.isfinite());
  at::Tensor expected = b.masked_select(finite);
  if (expected.numel() == 0) return 0;
  const double scale = expected.square().mean().sqrt().item<double>();
  // An output of zeros is compared as if it were of scale 1.
  at::Tensor divisor = expected.abs().clamp_min(scale > 0 ? scale : 1.0);
  return a.masked_select(finite)
      .sub(expected)
      .abs()
      .div(divisor)
      .max()
      .item<double>();
}

// The root mean square of a - b relative to that of b, where both are finite.
double RelativeRms(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor finite = a.isfinite().logical_and(b.isfinite());
  const at::Tensor expected = b.masked_select(finite);
  if (expected.numel() == 0) return 0;
  const double scale = expected.square().mean().item<double>();
  const double error =
      a.masked_select(finite).sub(expected).square().mean().item<double>();
  // As above.
  return std::sqrt(error / (scale > 0 ? scale : 1.0));
}

// Describes the first element where `wrong` holds.
std::string DescribeFirst(const at::Tensor& wrong, const at::Tensor& ours,
                          const at::Tensor& eager) {
  const int64_t first = wrong.flatten().to(at::kByte).argmax().item<int64_t>();
  std::vector<std::string> index;
  int64_t rest = first;
  for (int64_t axis = wrong.dim() - 1; axis >= 0; --axis) {
    index.insert(index.begin(), std::to_string(rest % wrong.size(axis)));
    rest /= wrong.size(axis);
  }
  return absl::StrFormat("%d of %d elements, first at [%s]: %.9g, eager %.9g",
                         wrong.to(at::kLong).sum().item<int64_t>(),
                         wrong.numel(), absl::StrJoin(index, ","),
                         ours.flatten()[first].item<double>(),
                         eager.flatten()[first].item<double>());
}

std::string SizesText(const at::Tensor& tensor) {
  return absl::StrCat("[", absl::StrJoin(tensor.sizes(), ","), "]");
}

Comparison CompareExact(const at::Tensor& ours, const at::Tensor& eager,
                        const at::Tensor* reference) {
  const auto differing = [](const at::Tensor& a, const at::Tensor& b) {
    return a.ne(b).sum().item<int64_t>();
  };
  Comparison result;
  at::Tensor wrong = ours.ne(eager);
  result.agrees = !wrong.any().item<bool>();
  if (!result.agrees) {
    result.max_error = kInfinity;
    result.differing = wrong.sum().item<int64_t>();
    result.problem =
        absl::StrCat("differs in ", DescribeFirst(wrong, ours, eager));
    if (reference != nullptr && reference->sizes() == eager.sizes() &&
        reference->scalar_type() == eager.scalar_type()) {
      result.agrees = differing(ours, *reference) <=
                      result.limits.reference_factor *
                          static_cast<double>(differing(eager, *reference));
      if (result.agrees) result.problem.clear();
    }
  }
  return result;
}

// Whether ours is about as near to the reference as eager.
bool IsClose(const Comparison& result) {
  return *result.our_reference_error <=
         result.limits.reference_factor * *result.eager_reference_error +
             result.limits.reference_floor;
}

std::string ErrorProblem(const Comparison& result) {
  if (!result.our_reference_error) {
    return absl::StrFormat("error %.3g exceeds %.3g", result.max_error,
                           result.limits.relative);
  }
  return absl::StrFormat(
      "error %.3g (to the higher-precision reference %.3g, eager's is %.3g)",
      result.max_error, *result.our_reference_error,
      *result.eager_reference_error);
}

}  // namespace

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
                          std::optional<double> relative) {
  Comparison result;
  result.max_error = kInfinity;
  if (ours.scalar_type() != eager.scalar_type()) {
    result.problem =
        absl::StrCat("dtype ", at::toString(ours.scalar_type()), ", eager ",
                     at::toString(eager.scalar_type()));
    return result;
  }
  if (ours.sizes() != eager.sizes()) {
    result.problem =
        absl::StrCat("shape ", SizesText(ours), ", eager ", SizesText(eager));
    return result;
  }
  if (!at::isFloatingType(eager.scalar_type())) {
    return at::isComplexType(eager.scalar_type())
               ? CompareExact(at::view_as_real(ours), at::view_as_real(eager),
                              nullptr)
               : CompareExact(ours, eager, reference);
  }

  result.limits = ToleranceOf(eager.scalar_type());
  result.limits.relative = relative.value_or(result.limits.relative);
  at::Tensor a = ours.to(at::kDouble), b = eager.to(at::kDouble);
  at::Tensor c;
  if (reference != nullptr && reference->sizes() == eager.sizes()) {
    // Rounded to the output's dtype: both of the others are.
    c = reference->to(eager.scalar_type()).to(at::kDouble);
  }

  // Non-finite values first: they have no distance.
  at::Tensor expected_non_finite = b.isfinite().logical_not();
  at::Tensor wrong =
      a.isfinite().logical_not().logical_and(expected_non_finite.logical_not());
  at::Tensor must_match =
      c.defined() ? SameNonFinite(b, c) : expected_non_finite;
  wrong = wrong.logical_or(
      must_match.logical_and(SameNonFinite(a, b).logical_not()));
  if (wrong.any().item<bool>()) {
    result.problem =
        absl::StrCat("NaN or infinity differs in ", DescribeFirst(wrong, a, b));
    return result;
  }

  result.max_error = RelativeError(a, b);
  const bool low_precision =
      eager.scalar_type() == at::kHalf || eager.scalar_type() == at::kBFloat16;
  result.agrees = result.max_error <= result.limits.relative;
  if (c.defined()) {
    result.our_reference_error = RelativeError(a, c);
    result.eager_reference_error = RelativeError(b, c);
    const at::Tensor exact = reference->to(at::kDouble);
    result.our_reference_rms = RelativeRms(a, exact);
    result.eager_reference_rms = RelativeRms(b, exact);
    // A tolerance that the user gave is strict.
    if (!relative) {
      result.agrees = IsClose(result) || (result.agrees && !low_precision);
    }
  }
  if (!result.agrees) result.problem = ErrorProblem(result);
  return result;
}

void Excuse(const Comparison& other_eager, Comparison& ours) {
  if (ours.agrees) return;
  if (ours.differing > 0) {
    ours.agrees = ours.limits.reference_factor *
                      static_cast<double>(other_eager.differing) >=
                  static_cast<double>(ours.differing);
    if (ours.agrees) ours.problem.clear();
    return;
  }
  if (!std::isfinite(ours.max_error)) return;
  if (!ours.our_reference_error) {
    ours.agrees =
        ours.max_error <= ours.limits.reference_factor * other_eager.max_error +
                              ours.limits.reference_floor;
  } else if (other_eager.our_reference_error > ours.eager_reference_error) {
    ours.eager_reference_error = other_eager.our_reference_error;
    ours.agrees = IsClose(ours);
  }
  ours.problem = ours.agrees ? "" : ErrorProblem(ours);
}

std::vector<Comparison> CompareResults(const c10::IValue& ours,
                                       const c10::IValue& eager,
                                       const c10::IValue* reference,
                                       std::optional<double> relative) {
  const std::vector<Leaf> our_leaves = Leaves(ours),
                          eager_leaves = Leaves(eager);
  std::vector<Leaf> reference_leaves;
  if (reference != nullptr) reference_leaves = Leaves(*reference);
  Comparison structure;
  structure.max_error = kInfinity;
  if (our_leaves.size() != eager_leaves.size()) {
    structure.problem =
        absl::StrCat("the result has ", our_leaves.size(),
                     " leaves, eager's has ", eager_leaves.size());
    return {structure};
  }
  std::vector<Comparison> results;
  for (size_t i = 0; i < our_leaves.size(); ++i) {
    const Leaf &mine = our_leaves[i], &theirs = eager_leaves[i];
    Comparison result;
    if (mine.path != theirs.path) {
      result.max_error = kInfinity;
      result.problem =
          absl::StrCat("is at ", mine.path, ", eager's is at ", theirs.path);
    } else if (mine.value->isTensor() && theirs.value->isTensor()) {
      const at::Tensor* truth = nullptr;
      if (reference_leaves.size() == eager_leaves.size() &&
          reference_leaves[i].value->isTensor()) {
        truth = &reference_leaves[i].value->toTensor();
      }
      result = CompareTensors(mine.value->toTensor(), theirs.value->toTensor(),
                              truth, relative);
    } else if (mine.value->isDouble() && theirs.value->isDouble()) {
      result = CompareTensors(
          at::scalar_tensor(mine.value->toDouble(), at::kDouble),
          at::scalar_tensor(theirs.value->toDouble(), at::kDouble), nullptr,
          relative.value_or(DefaultTolerance(DataType::kFloat32).relative));
    } else if (mine.value->tagKind() == theirs.value->tagKind() &&
               *mine.value == *theirs.value) {
      result.agrees = true;
    } else {
      result.max_error = kInfinity;
      result.problem =
          absl::StrCat("is a ", mine.value->tagKind(), ", eager's is a ",
                       theirs.value->tagKind(), " or another value");
    }
    result.output = theirs.path;
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace aitune::frontend
