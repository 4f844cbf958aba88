// Large tensors of made-up elements.
//
// Random numbers cost far more than writing them: a check of a model with
// gigabytes of inputs would mostly draw numbers. Elements that come again say
// as much of a kernel.
#ifndef AITUNE_FRONTEND_VALUES_REPEATED_ELEMENTS_H_
#define AITUNE_FRONTEND_VALUES_REPEATED_ELEMENTS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

namespace aitune::frontend {

// The elements after which those of a large tensor come again: a prime, so that
// the rows of a matrix are not alike.
inline constexpr int64_t kDistinctElements = 1048573;

// A contiguous tensor of `sizes` with the elements of make(count), a tensor of
// one axis of `count` elements, at most kDistinctElements; `make` is called
// once.
at::Tensor RepeatedElements(at::IntArrayRef sizes,
                            const std::function<at::Tensor(int64_t)>& make);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_VALUES_REPEATED_ELEMENTS_H_
