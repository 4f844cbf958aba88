#include "frontend/check/dense_numbers.h"

#include <ATen/Functions.h>
#include <c10/core/Layout.h>

#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace aitune::frontend {

bool IsDenseNumbers(const at::Tensor& tensor) {
  return tensor.layout() == at::kStrided && !tensor.is_nested() &&
         !tensor.is_quantized() && !tensor.is_complex();
}

at::Tensor DenseNumbers(const at::Tensor& tensor) {
  at::Tensor dense = tensor;
  if (dense.is_nested()) dense = dense.to_padded_tensor(0);
  if (dense.is_quantized()) dense = dense.dequantize();
  if (dense.layout() != at::kStrided) dense = dense.to_dense();
  if (dense.is_complex()) dense = at::view_as_real(dense.resolve_conj());
  return dense;
}

bool NothingIsFinite(const std::vector<at::Tensor>& tensors) {
  bool found = false;
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.defined()) continue;
    const at::Tensor numbers = DenseNumbers(tensor);
    if (numbers.numel() == 0) continue;
    if (!numbers.is_floating_point() || numbers.isfinite().any().item<bool>())
      return false;
    found = true;
  }
  return found;
}

std::string StorageText(const at::Tensor& tensor) {
  if (tensor.is_nested()) return "nested";
  if (tensor.is_quantized()) return "quantised";
  std::ostringstream text;
  text << tensor.layout();
  return text.str();
}

std::string SizesText(const at::Tensor& tensor) {
  if (!tensor.is_nested())
    return absl::StrCat("[", absl::StrJoin(tensor.sizes(), ","), "]");
  return absl::StrCat("[",
                      absl::StrJoin(tensor.unbind(), ",",
                                    [](std::string* out, const at::Tensor& t) {
                                      absl::StrAppend(out, SizesText(t));
                                    }),
                      "]");
}

}  // namespace aitune::frontend
