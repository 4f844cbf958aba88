// Distances between the elements of tensors, by which an output is judged
// (verification.h). Tensors are contiguous, of float64, masks of bool and equal
// sizes. Each function goes over the elements in place: an output of a hundred
// megabytes is judged many times in a check. Thread-safe.
#ifndef AITUNE_FRONTEND_CHECK_DISTANCE_H_
#define AITUNE_FRONTEND_CHECK_DISTANCE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace aitune::frontend {

// Whether all elements are numbers.
bool IsFinite(const at::Tensor& tensor);

// Whether the elements are equal, or both NaN.
bool AreEqual(const at::Tensor& a, const at::Tensor& b);

// Where `a` and `b` are not finite in the same way: both NaN, or equal
// infinities. bool, of their sizes.
at::Tensor SameNonFinite(const at::Tensor& a, const at::Tensor& b);

// max |a - b| / max(|b|, root mean square of b) over the elements of `mask`;
// 0 for none. An output of zeros is compared as if it were of scale 1.
double RelativeError(const at::Tensor& a, const at::Tensor& b,
                     const at::Tensor& mask);

// The root mean square of a - b relative to that of b, over `mask`; as above.
double RelativeRms(const at::Tensor& a, const at::Tensor& b,
                   const at::Tensor& mask);

// The elements of a neighbourhood of `tensor`, one after the other in memory:
// whole axes from the last on (verification.h). 0 for a tensor without
// elements.
int64_t NeighbourhoodSize(const at::Tensor& tensor);

// Of each neighbourhood, the median size of the elements of `mask` that are not
// 0. One without such takes the median of all, or 1. [neighbourhoods].
at::Tensor LocalMedians(const at::Tensor& truth, const at::Tensor& mask);

struct NeighbourhoodErrors {
  // By neighbourhood, the largest (|a - truth| - lost) / max(|truth|, its
  // median) of the elements of the mask, at least 0. [neighbourhoods].
  at::Tensor largest;
  int64_t worst = 0;  // the first element with the largest error of all
};
// `lost` is the size of numbers that may be missing from a result.
NeighbourhoodErrors ErrorsTo(const at::Tensor& truth, const at::Tensor& medians,
                             const at::Tensor& a, const at::Tensor& mask,
                             double lost);

// Of the angle between the elements of `a` and `b` in `mask`; 1 for two
// vectors of zeros, 0 for one.
double Cosine(const at::Tensor& a, const at::Tensor& b, const at::Tensor& mask);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECK_DISTANCE_H_
