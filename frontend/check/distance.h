// Distances between the elements of tensors of float64, by which an output is
// judged (verification.h). Thread-safe.
#ifndef AITUNE_FRONTEND_CHECK_DISTANCE_H_
#define AITUNE_FRONTEND_CHECK_DISTANCE_H_

namespace at {
class Tensor;
}  // namespace at

namespace aitune::frontend {

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

// A tensor as [neighbourhoods, elements].
at::Tensor InNeighbourhoods(const at::Tensor& tensor);

// Of each element of [neighbourhoods, elements]: its size or the median size of
// those in its neighbourhood that are not 0, whichever is larger. A
// neighbourhood of zeros takes the median of all. Elements outside of `mask` do
// not count.
at::Tensor LocalScale(const at::Tensor& truth, const at::Tensor& mask);

// Of the angle between the elements of `a` and `b` in `mask`; 1 for two
// vectors of zeros, 0 for one.
double Cosine(const at::Tensor& a, const at::Tensor& b, const at::Tensor& mask);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECK_DISTANCE_H_
