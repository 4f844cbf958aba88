#include "frontend/check/evidence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace aitune::frontend {
namespace {

// When eager itself is taken to be uncertain of all elements of an output of
// integers; see verification.h.
constexpr size_t kRunsForOrder = 5;
constexpr double kShareForOrder = 0.25;
constexpr int64_t kFactorForOrder = 2;

// Whether eager's runs change integers all over the output, and half of them
// about as many as ours.
bool IsAsUncertainAsEager(const Evidence& evidence) {
  if (evidence.changes.size() < kRunsForOrder) return false;
  const auto differing = evidence.differs.sum().item<int64_t>();
  const auto as_many = std::count_if(
      evidence.changes.begin(), evidence.changes.end(),
      [&](int64_t changes) { return kFactorForOrder * changes >= differing; });
  return as_many * 2 >= static_cast<int64_t>(evidence.changes.size()) &&
         evidence.changed.sum().item<double>() >=
             kShareForOrder * static_cast<double>(evidence.changed.numel());
}

// Neighbourhoods in which single elements are too far off.
at::Tensor FarOff(const Evidence& evidence, const Tolerance& limits) {
  return evidence.our_errors
      .gt(evidence.eager_errors.mul(kElementFactor * limits.reference_factor)
              .add(kElementFactor * limits.reference_floor))
      .logical_and(evidence.near.logical_not());
}

}  // namespace

std::string WholeProblem(const Comparison& result) {
  if (!result.our_reference_error) {
    return absl::StrFormat("error %.3g exceeds %.3g", result.max_error,
                           result.limits.relative);
  }
  return absl::StrFormat(
      "error %.3g exceeds %.3g (to the higher-precision reference %.3g, "
      "eager's "
      "is %.3g)",
      result.max_error, result.limits.relative, *result.our_reference_error,
      *result.eager_reference_error);
}

std::string DescribeElement(int64_t position, const at::Tensor& ours,
                            const at::Tensor& eager) {
  std::vector<std::string> index;
  int64_t rest = position;
  for (int64_t axis = ours.dim() - 1; axis >= 0; --axis) {
    index.insert(index.begin(), std::to_string(rest % ours.size(axis)));
    rest /= ours.size(axis);
  }
  return absl::StrFormat("[%s]: %.9g, eager %.9g", absl::StrJoin(index, ","),
                         ours.flatten()[position].item<double>(),
                         eager.flatten()[position].item<double>());
}

std::string DescribeFirst(const at::Tensor& wrong, const at::Tensor& ours,
                          const at::Tensor& eager) {
  return absl::StrFormat(
      "%d of %d elements, first at %s", wrong.sum().item<int64_t>(),
      wrong.numel(),
      DescribeElement(wrong.flatten().to(at::kByte).argmax().item<int64_t>(),
                      ours, eager));
}

bool IsClose(const Comparison& result) {
  return *result.our_reference_error <=
         result.limits.reference_factor * *result.eager_reference_error +
             result.limits.reference_floor;
}

void Finish(Comparison& result) {
  const Evidence& evidence = *result.evidence;
  result.problem.clear();
  if (evidence.wrong.defined()) {
    result.differing = evidence.wrong.sum().item<int64_t>();
    result.excused = evidence.differs.sum().item<int64_t>() - result.differing;
    result.agrees = result.differing == 0;
    if (!result.agrees) {
      result.max_error = std::numeric_limits<double>::infinity();
      result.problem = absl::StrCat(
          "differs in ",
          DescribeFirst(evidence.wrong, evidence.ours, evidence.eager),
          result.excused > 0 ? "; eager never changes there" : "");
      if (!evidence.changes.empty()) {
        const auto [least, most] = std::minmax_element(evidence.changes.begin(),
                                                       evidence.changes.end());
        absl::StrAppendFormat(
            &result.problem,
            " (ours differs in %d in all, %d other runs of eager in %d to %d)",
            evidence.differs.sum().item<int64_t>(), evidence.changes.size(),
            *least, *most);
      }
    } else {
      result.max_error = 0;
    }
    return;
  }
  const at::Tensor far_off = FarOff(evidence, result.limits);
  const bool elements = !far_off.any().item<bool>();
  result.agrees = evidence.whole && elements;
  if (!evidence.whole) {
    result.problem = WholeProblem(result);
  } else if (!elements) {
    const at::Tensor errors =
        evidence.our_errors.masked_fill(far_off.logical_not(), 0);
    const auto worst = errors.argmax().item<int64_t>();
    result.problem = absl::StrFormat(
        "single elements are far off in %d of %d neighbourhoods: error %.3g of "
        "their size or of the median around them, eager's is %.3g; %s",
        far_off.sum().item<int64_t>(), far_off.numel(),
        errors[worst].item<double>(),
        evidence.eager_errors[worst].item<double>(), evidence.worst);
  }
}

void Excuse(const Comparison& other_eager, bool ties_kept, Comparison& ours) {
  if (ours.agrees || ours.evidence == nullptr) return;
  auto evidence = std::make_shared<Evidence>(*ours.evidence);
  const Evidence* other = other_eager.evidence.get();
  if (evidence->wrong.defined()) {
    if (!ties_kept || other == nullptr || !other->differs.defined() ||
        other->differs.sizes() != evidence->wrong.sizes())
      return;
    evidence->wrong = evidence->wrong.logical_and(other->differs.logical_not());
    evidence->changed = evidence->changed.defined()
                            ? evidence->changed.logical_or(other->differs)
                            : other->differs;
    evidence->changes.push_back(other->differs.sum().item<int64_t>());
    if (IsAsUncertainAsEager(*evidence))
      evidence->wrong = at::zeros_like(evidence->wrong);
  } else {
    if (ours.our_reference_error && other_eager.our_reference_error) {
      if (*other_eager.our_reference_error > *ours.eager_reference_error)
        ours.eager_reference_error = other_eager.our_reference_error;
      evidence->whole = evidence->whole || IsClose(ours);
    } else if (!ours.our_reference_error &&
               std::isfinite(other_eager.max_error)) {
      evidence->whole =
          evidence->whole || ours.max_error <= ours.limits.reference_factor *
                                                       other_eager.max_error +
                                                   ours.limits.reference_floor;
    }
    if (other != nullptr && other->our_errors.defined() &&
        other->our_errors.sizes() == evidence->eager_errors.sizes())
      evidence->eager_errors =
          at::maximum(evidence->eager_errors, other->our_errors);
  }
  ours.evidence = std::move(evidence);
  Finish(ours);
}

}  // namespace aitune::frontend
