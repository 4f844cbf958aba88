// The numbers of tensors that are not dense rows of real numbers, for
// comparisons. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_CHECK_DENSE_NUMBERS_H_
#define AITUNE_FRONTEND_CHECK_DENSE_NUMBERS_H_

#include <ATen/core/TensorBody.h>

#include <string>
#include <vector>

namespace aitune::frontend {

// Whether it is a dense tensor of real numbers as it is.
bool IsDenseNumbers(const at::Tensor& tensor);

// A dense tensor of real numbers that has those of `tensor`: of a sparse one
// with its zeros, of complex ones with an axis of real and imaginary parts, of
// LibTorch's quantised ones what they stand for, of nested ones with zeros up
// to the largest size. Throws what LibTorch throws.
at::Tensor DenseNumbers(const at::Tensor& tensor);

// Whether the tensors have floating-point numbers, none of them finite, and no
// others. Undefined tensors have none.
bool NothingIsFinite(const std::vector<at::Tensor>& tensors);

// How its elements are kept: "Strided", "Sparse", "quantised", "nested", ...
std::string StorageText(const at::Tensor& tensor);

// Its sizes: "[2,3]", of a nested one "[[2,3],[1,3]]".
std::string SizesText(const at::Tensor& tensor);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECK_DENSE_NUMBERS_H_
