#include "frontend/check/distance.h"

#include <ATen/ATen.h>

#include <cmath>

namespace aitune::frontend {
namespace {

// The elements of a neighbourhood: see verification.h.
constexpr int64_t kNeighbourhood = 256;

}  // namespace

at::Tensor SameNonFinite(const at::Tensor& a, const at::Tensor& b) {
  return a.isnan().logical_and(b.isnan()).logical_or(
      a.isinf().logical_and(a.eq(b)));
}

double RelativeError(const at::Tensor& a, const at::Tensor& b,
                     const at::Tensor& mask) {
  const at::Tensor expected = b.masked_select(mask);
  if (expected.numel() == 0) return 0;
  const double scale = expected.square().mean().sqrt().item<double>();
  // An output of zeros is compared as if it were of scale 1.
  const at::Tensor divisor = expected.abs().clamp_min(scale > 0 ? scale : 1.0);
  return a.masked_select(mask)
      .sub(expected)
      .abs()
      .div(divisor)
      .max()
      .item<double>();
}

double RelativeRms(const at::Tensor& a, const at::Tensor& b,
                   const at::Tensor& mask) {
  const at::Tensor expected = b.masked_select(mask);
  if (expected.numel() == 0) return 0;
  const double scale = expected.square().mean().item<double>();
  const double error =
      a.masked_select(mask).sub(expected).square().mean().item<double>();
  // As above.
  return std::sqrt(error / (scale > 0 ? scale : 1.0));
}

at::Tensor InNeighbourhoods(const at::Tensor& tensor) {
  int64_t elements = 1;
  int64_t axis = tensor.dim();
  while (axis > 0 && elements < kNeighbourhood) elements *= tensor.size(--axis);
  return tensor.reshape({-1, elements});
}

at::Tensor LocalScale(const at::Tensor& truth, const at::Tensor& mask) {
  const at::Tensor size = truth.abs();
  const at::Tensor counted =
      size.masked_fill(mask.logical_and(size.gt(0)).logical_not(), NAN);
  at::Tensor median = std::get<0>(counted.nanmedian(1, /*keepdim=*/true));
  const double all = counted.nanmedian().item<double>();
  median = median.nan_to_num(std::isnan(all) ? 1.0 : all);
  return at::maximum(size.masked_fill(mask.logical_not(), 0), median);
}

double Cosine(const at::Tensor& a, const at::Tensor& b,
              const at::Tensor& mask) {
  const at::Tensor x = a.masked_select(mask), y = b.masked_select(mask);
  const double xx = x.square().sum().item<double>(),
               yy = y.square().sum().item<double>();
  if (xx == 0 || yy == 0) return xx == yy ? 1 : 0;
  return x.mul(y).sum().item<double>() / std::sqrt(xx) / std::sqrt(yy);
}

}  // namespace aitune::frontend
