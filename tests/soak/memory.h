// Whether a program's memory grows, from what it held over its run.
#ifndef AITUNE_TESTS_SOAK_MEMORY_H_
#define AITUNE_TESTS_SOAK_MEMORY_H_

#include <cstdint>

#include "absl/types/span.h"

namespace aitune::soak {

// The resident bytes of this process; 0 if /proc cannot be read.
int64_t ResidentBytes();

// The largest of `samples`, which were taken at equal intervals, in each
// quarter of the run. A quarter without samples has 0.
struct QuarterPeaks {
  int64_t of[4] = {};

  // Whether the last quarter's is at most 10 % above the second's. The first is
  // not asked: caches and the allocator's pools fill in it.
  bool IsFlat() const;
};
QuarterPeaks PeaksOf(absl::Span<const int64_t> samples);

}  // namespace aitune::soak

#endif  // AITUNE_TESTS_SOAK_MEMORY_H_
