// How near an output of a quantised model is to eager's.
#ifndef AITUNE_FRONTEND_CHECK_ACCURACY_H_
#define AITUNE_FRONTEND_CHECK_ACCURACY_H_

#include <limits>
#include <string>

#include "runtime/backend/accuracy_bound.h"

namespace at {
class Tensor;
}  // namespace at

namespace aitune::frontend {

struct Accuracy {
  // Of floating-point outputs, over the elements that are finite in both:
  double cosine = 1;  // of the angle between them, as vectors
  // The ratio of eager's output to its difference from ours, in decibels.
  double sqnr_db = std::numeric_limits<double>::infinity();
  // Of other outputs: the share of equal elements; 1 if there are none.
  double equal = 1;
};

// Precondition: dense tensors on the CPU with the same dtype and sizes.
// Thread-safe.
Accuracy AccuracyOf(const at::Tensor& ours, const at::Tensor& eager);

// bound.min_sqnr_db, or what min_cosine makes of it: of two vectors with the
// cosine c, whose difference is orthogonal to the one, the other has
// 1 / c^2 - 1 of its power.
double LeastSqnr(const AccuracyBound& bound);

// Which number is less than the bound, and the bound; empty if none is.
// Thread-safe.
std::string MissedBound(const Accuracy& accuracy, const AccuracyBound& bound);

// How many times as great as may be the power of the noise is; more than 1
// where MissedBound is not empty. Thread-safe.
double ExcessNoise(const Accuracy& accuracy, const AccuracyBound& bound);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECK_ACCURACY_H_
