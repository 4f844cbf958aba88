#include "tests/sizes/compare_sizes.h"

#include <ATen/ATen.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/values/pytree.h"

namespace aitune::sizes {

using frontend::Leaf;

at::Tensor InputOf(int64_t rows) {
  at::manual_seed(static_cast<uint64_t>(rows));
  return at::randn({rows, 4});
}

std::string Difference(const absl::StatusOr<c10::IValue>& ours,
                       const absl::StatusOr<c10::IValue>& eager) {
  if (!eager.ok()) return ours.ok() ? "eager raises, ours does not" : "";
  if (!ours.ok()) return ours.status().ToString();
  const std::vector<Leaf> a = frontend::Leaves(*ours),
                          b = frontend::Leaves(*eager);
  if (a.size() != b.size()) return "another number of results";
  for (size_t i = 0; i < a.size(); ++i) {
    const at::Tensor x = a[i].value->toTensor(), y = b[i].value->toTensor();
    if (x.sizes() != y.sizes())
      return absl::StrCat("sizes ", x.dim() > 0 ? x.size(0) : -1,
                          " instead of ", y.dim() > 0 ? y.size(0) : -1);
    if (!at::allclose(x, y, 1e-4, 1e-5, /*equal_nan=*/true))
      return absl::StrCat("off by ", (x - y).abs().max().item<double>());
  }
  return "";
}

}  // namespace aitune::sizes
