#include "frontend/check/accuracy.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "frontend/check/distance.h"

namespace aitune::frontend {
namespace {

// A bound that leaves no room for any noise.
constexpr double kNoRoom = 1e-12;

double PowerOf(double decibels) { return std::pow(10, decibels / 10); }

}  // namespace

Accuracy AccuracyOf(const at::Tensor& ours, const at::Tensor& eager) {
  Accuracy accuracy;
  if (eager.numel() == 0) return accuracy;
  if (!eager.is_floating_point()) {
    accuracy.equal = ours.eq(eager).to(at::kDouble).mean().item<double>();
    return accuracy;
  }
  const at::Tensor a = ours.to(at::kDouble).contiguous(),
                   b = eager.to(at::kDouble).contiguous();
  const at::Tensor finite = a.isfinite().logical_and(b.isfinite());
  if (!finite.any().item<bool>()) return accuracy;
  // Divided by the largest first, whose square may be no number.
  const double largest =
      b.abs().maximum(a.abs()).masked_select(finite).max().item<double>();
  if (largest == 0) return accuracy;
  const at::Tensor p = a.div(largest), q = b.div(largest);
  accuracy.cosine = Cosine(p, q, finite);
  const double noise =
                   p.sub(q).square().masked_select(finite).sum().item<double>(),
               signal = q.square().masked_select(finite).sum().item<double>();
  if (noise > 0) accuracy.sqnr_db = 10 * std::log10(signal / noise);
  return accuracy;
}

double LeastSqnr(const AccuracyBound& bound) {
  if (bound.min_sqnr_db.has_value()) return *bound.min_sqnr_db;
  const double noise = 1 / (bound.min_cosine * bound.min_cosine) - 1;
  return -10 * std::log10(4 * noise);
}

std::string MissedBound(const Accuracy& accuracy, const AccuracyBound& bound) {
  if (!(accuracy.cosine >= bound.min_cosine))
    return absl::StrFormat("cosine %.5f to eager (bound %.5f)", accuracy.cosine,
                           bound.min_cosine);
  if (!(accuracy.sqnr_db >= LeastSqnr(bound)))
    return absl::StrFormat("%.2f dB of signal to noise to eager (bound %.2f)",
                           accuracy.sqnr_db, LeastSqnr(bound));
  if (!(accuracy.equal >= bound.min_equal_integers))
    return absl::StrFormat("%.4f of the elements are eager's (bound %.4f)",
                           accuracy.equal, bound.min_equal_integers);
  return "";
}

double ExcessNoise(const Accuracy& accuracy, const AccuracyBound& bound) {
  // 1 - cosine is half of the noise's power. As many integers change as values
  // are near a border: in proportion to the noise itself.
  const double of_cosine = (1 - accuracy.cosine) /
                           std::max(1 - bound.min_cosine, kNoRoom),
               of_sqnr = PowerOf(LeastSqnr(bound) - accuracy.sqnr_db),
               of_integers = (1 - accuracy.equal) /
                             std::max(1 - bound.min_equal_integers, kNoRoom);
  return std::max({of_cosine, std::isnan(of_sqnr) ? 0 : of_sqnr,
                   of_integers * of_integers});
}

}  // namespace aitune::frontend
