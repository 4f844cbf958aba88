#include "frontend/check/distance.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace aitune::frontend {
namespace {

// The elements of a neighbourhood: see verification.h.
constexpr int64_t kNeighbourhood = 256;

const double* Data(const at::Tensor& tensor) {
  return static_cast<const double*>(tensor.const_data_ptr());
}

const bool* Mask(const at::Tensor& mask) {
  return static_cast<const bool*>(mask.const_data_ptr());
}

// NaN if one of them is, as where sums overflow: it must not pass for small.
double Larger(double a, double b) { return a >= b || std::isnan(a) ? a : b; }

// The lower median of `values`, which it puts into another order; NaN for none.
double Median(std::vector<double>& values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle =
      values.begin() + static_cast<int64_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void AddSizes(const double* values, const bool* mask, int64_t count,
              std::vector<double>& sizes) {
  for (int64_t i = 0; i < count; ++i)
    if (mask[i] && values[i] != 0) sizes.push_back(std::abs(values[i]));
}

}  // namespace

bool IsFinite(const at::Tensor& tensor) {
  const double* const x = Data(tensor);
  return std::all_of(x, x + tensor.numel(),
                     [](double value) { return std::isfinite(value); });
}

bool AreEqual(const at::Tensor& a, const at::Tensor& b) {
  const double* const x = Data(a);
  return std::equal(x, x + a.numel(), Data(b), [](double mine, double theirs) {
    return mine == theirs || (std::isnan(mine) && std::isnan(theirs));
  });
}

at::Tensor SameNonFinite(const at::Tensor& a, const at::Tensor& b) {
  return a.isnan().logical_and(b.isnan()).logical_or(
      a.isinf().logical_and(a.eq(b)));
}

double RelativeError(const at::Tensor& a, const at::Tensor& b,
                     const at::Tensor& mask) {
  const double *const x = Data(a), *const y = Data(b);
  const bool* const in = Mask(mask);
  double squares = 0, count = 0;
  for (int64_t i = 0; i < b.numel(); ++i) {
    if (!in[i]) continue;
    squares += y[i] * y[i];
    ++count;
  }
  if (count == 0) return 0;
  const double scale = std::sqrt(squares / count);
  const double least = scale > 0 ? scale : 1;
  double worst = 0;
  for (int64_t i = 0; i < b.numel(); ++i) {
    if (!in[i]) continue;
    worst =
        Larger(worst, std::abs(x[i] - y[i]) / std::max(std::abs(y[i]), least));
  }
  return worst;
}

double RelativeRms(const at::Tensor& a, const at::Tensor& b,
                   const at::Tensor& mask) {
  const double *const x = Data(a), *const y = Data(b);
  const bool* const in = Mask(mask);
  double scale = 0, error = 0, count = 0;
  for (int64_t i = 0; i < b.numel(); ++i) {
    if (!in[i]) continue;
    scale += y[i] * y[i];
    error += (x[i] - y[i]) * (x[i] - y[i]);
    ++count;
  }
  if (count == 0) return 0;
  return std::sqrt(scale > 0 ? error / scale : error / count);
}

int64_t NeighbourhoodSize(const at::Tensor& tensor) {
  int64_t elements = 1;
  int64_t axis = tensor.dim();
  while (axis > 0 && elements < kNeighbourhood && elements > 0)
    elements *= tensor.size(--axis);
  return tensor.numel() == 0 ? 0 : elements;
}

at::Tensor LocalMedians(const at::Tensor& truth, const at::Tensor& mask) {
  const int64_t size = NeighbourhoodSize(truth);
  const int64_t count = size == 0 ? 0 : truth.numel() / size;
  const double* const values = Data(truth);
  const bool* const in = Mask(mask);
  at::Tensor medians = at::empty({count}, at::kDouble);
  double* const found = medians.data_ptr<double>();
  std::vector<double> sizes;
  bool has_none = false;
  for (int64_t i = 0; i < count; ++i) {
    sizes.clear();
    AddSizes(values + i * size, in + i * size, size, sizes);
    found[i] = Median(sizes);
    has_none |= sizes.empty();
  }
  if (!has_none) return medians;
  sizes.clear();
  AddSizes(values, in, truth.numel(), sizes);
  const double all = Median(sizes);
  return medians.nan_to_num_(std::isnan(all) ? 1 : all);
}

NeighbourhoodErrors ErrorsTo(const at::Tensor& truth, const at::Tensor& medians,
                             const at::Tensor& a, const at::Tensor& mask,
                             double lost) {
  const double *const x = Data(a), *const y = Data(truth),
                      *const median = Data(medians);
  const bool* const in = Mask(mask);
  NeighbourhoodErrors errors;
  errors.largest = at::zeros_like(medians);
  double* const largest = errors.largest.data_ptr<double>();
  double worst = -1;
  const int64_t size = NeighbourhoodSize(truth);
  for (int64_t i = 0; i < truth.numel(); ++i) {
    if (!in[i]) continue;
    const int64_t neighbourhood = i / size;
    const double distance = std::abs(x[i] - y[i]);
    const double error = (distance <= lost ? 0 : distance - lost) /
                         std::max(std::abs(y[i]), median[neighbourhood]);
    largest[neighbourhood] = Larger(largest[neighbourhood], error);
    if (!(error > worst)) continue;
    worst = error;
    errors.worst = i;
  }
  return errors;
}

double Cosine(const at::Tensor& a, const at::Tensor& b,
              const at::Tensor& mask) {
  const double *const x = Data(a), *const y = Data(b);
  const bool* const in = Mask(mask);
  double xx = 0, yy = 0, xy = 0;
  for (int64_t i = 0; i < b.numel(); ++i) {
    if (!in[i]) continue;
    xx += x[i] * x[i];
    yy += y[i] * y[i];
    xy += x[i] * y[i];
  }
  if (xx == 0 || yy == 0) return xx == yy ? 1 : 0;
  return xy / std::sqrt(xx) / std::sqrt(yy);
}

}  // namespace aitune::frontend
