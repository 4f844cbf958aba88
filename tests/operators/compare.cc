#include "tests/operators/compare.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/values/pytree.h"

namespace aitune {
namespace {

using frontend::Leaf;

struct Bounds {
  double element, sum, smallest;  // smallest: the least positive number
};

Bounds BoundsOf(at::ScalarType dtype) {
  switch (dtype) {
    case at::kHalf:
      return {0x1p-9, 0x1p-6, 0x1p-24};
    case at::kBFloat16:
      return {0x1p-6, 0x1p-4, 0x1p-133};
    case at::kFloat:
      return {2e-6, 1e-4, 0x1p-149};
    default:
      return {1e-12, 1e-9, 0x1p-1074};
  }
}

bool Agree(double ours, double expected, double bound, double scale,
           double smallest) {
  if (std::isnan(ours) || std::isnan(expected))
    return std::isnan(ours) && std::isnan(expected);
  if (ours == expected) return true;
  if (std::isinf(ours) || std::isinf(expected)) return false;
  // Two denormal numbers may be two units apart.
  return std::abs(ours - expected) <=
         bound * std::max(std::abs(expected), scale) + 2 * smallest;
}

std::string Describe(const at::Tensor& tensor) {
  return absl::StrCat(c10::toString(tensor.scalar_type()), "[",
                      absl::StrJoin(tensor.sizes(), ","), "]");
}

std::string Floats(const at::Tensor& ours, const at::Tensor& eager,
                   const at::Tensor* reference, OperatorCall::Kind kind) {
  const Bounds bounds = BoundsOf(eager.scalar_type());
  const at::Tensor a = ours.to(at::kDouble).contiguous();
  const at::Tensor b = eager.to(at::kDouble).contiguous();
  at::Tensor exact;
  if (reference && reference->sizes() == eager.sizes())
    exact = reference->to(eager.scalar_type()).to(at::kDouble).contiguous();
  const double *x = a.data_ptr<double>(), *y = b.data_ptr<double>(),
               *z = exact.defined() ? exact.data_ptr<double>() : nullptr;
  const bool is_sum = kind == OperatorCall::Kind::kSum;
  double scale = 0;
  for (int64_t i = 0; i < b.numel(); ++i) {
    if (is_sum && std::isfinite(y[i])) scale = std::max(scale, std::abs(y[i]));
  }
  const double bound = is_sum ? bounds.sum : bounds.element;
  for (int64_t i = 0; i < b.numel(); ++i) {
    if (Agree(x[i], y[i], bound, scale, bounds.smallest)) continue;
    if (z && Agree(x[i], z[i], bound, scale, bounds.smallest)) continue;
    return absl::StrCat("element ", i, " is ", x[i], ", eager's ", y[i],
                        z ? absl::StrCat(", in float64 ", z[i]) : "");
  }
  return "";
}

std::string Tensors(const at::Tensor& ours, const at::Tensor& eager,
                    const at::Tensor* reference, OperatorCall::Kind kind) {
  if (ours.scalar_type() != eager.scalar_type() ||
      ours.sizes() != eager.sizes()) {
    return absl::StrCat("is ", Describe(ours), ", eager's ", Describe(eager));
  }
  if (at::isFloatingType(eager.scalar_type()))
    return Floats(ours, eager, reference, kind);
  if (at::isComplexType(eager.scalar_type()))
    return at::allclose(ours, eager, 1e-5, 1e-8, /*equal_nan=*/true)
               ? ""
               : "complex numbers differ";
  const at::Tensor wrong = ours.ne(eager).reshape(-1).nonzero();
  if (wrong.size(0) == 0) return "";
  const int64_t i = wrong[0].item<int64_t>();
  return absl::StrCat(
      wrong.size(0), " of ", eager.numel(), " differ, element ", i, " is ",
      ours.reshape(-1)[i].to(at::kLong).item<int64_t>(), ", eager's ",
      eager.reshape(-1)[i].to(at::kLong).item<int64_t>());
}

}  // namespace

std::string FindDifference(const c10::IValue& ours, const c10::IValue& eager,
                           const c10::IValue* reference,
                           OperatorCall::Kind kind) {
  const std::vector<Leaf> a = frontend::Leaves(ours),
                          b = frontend::Leaves(eager);
  std::vector<Leaf> exact;
  if (reference) exact = frontend::Leaves(*reference);
  if (a.size() != b.size())
    return absl::StrCat(a.size(), " results, eager's ", b.size());
  for (size_t i = 0; i < b.size(); ++i) {
    if (!a[i].value->isTensor() || !b[i].value->isTensor()) {
      if (*a[i].value == *b[i].value) continue;
      return absl::StrCat("result ", i, " is another");
    }
    at::Tensor truth;
    if (exact.size() == b.size() && exact[i].value->isTensor())
      truth = exact[i].value->toTensor();
    std::string difference =
        Tensors(a[i].value->toTensor(), b[i].value->toTensor(),
                truth.defined() ? &truth : nullptr, kind);
    if (difference.empty()) continue;
    return b.size() == 1 ? difference
                         : absl::StrCat("result ", i, ": ", difference);
  }
  return "";
}

}  // namespace aitune
