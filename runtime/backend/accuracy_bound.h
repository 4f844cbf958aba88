// What a backend that quantises promises about its outputs, whose errors are
// those of 8 bits and not of a dtype.
#ifndef AITUNE_RUNTIME_BACKEND_ACCURACY_BOUND_H_
#define AITUNE_RUNTIME_BACKEND_ACCURACY_BOUND_H_

#include <optional>

namespace aitune {

// How close outputs must be to eager's. Each bound holds for every output of
// every sample.
struct AccuracyBound {
  // Of floating-point outputs, as vectors of all elements: the least cosine of
  // the angle between them, 0 to 1.
  double min_cosine = 0.999;
  // The least ratio of eager's output to its difference from ours, in decibels.
  // Not set: what noise of twice the size that min_cosine allows leaves, 21 dB
  // with 0.999: an error of scale, which no cosine shows, may be as great as
  // that of the angle.
  std::optional<double> min_sqnr_db;
  // The least share of equal elements of an integer or bool output, 0 to 1.
  double min_equal_integers = 0.99;

  friend bool operator==(const AccuracyBound& a, const AccuracyBound& b) {
    return a.min_cosine == b.min_cosine && a.min_sqnr_db == b.min_sqnr_db &&
           a.min_equal_integers == b.min_equal_integers;
  }
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BACKEND_ACCURACY_BOUND_H_
