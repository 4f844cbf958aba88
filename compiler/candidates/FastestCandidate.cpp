#include "compiler/candidates/FastestCandidate.h"

namespace aitune {
namespace {

/// Where ties go to the earlier candidate, a later one must take less than this
/// of its time: fastest runs of the same code differ by so much.
constexpr double kClearly = 0.97;

} // namespace

int fastest(absl::Span<const Measurement> measured, bool earlierWinsTies,
            llvm::function_ref<bool(size_t)> mayTake) {
  const auto isFaster = [&](const Measurement &later,
                            const Measurement &earlier) {
    if (earlier.least < 0 || later.least < 0)
      return later.microseconds <
             (earlierWinsTies ? earlier.low : earlier.microseconds);
    return later.least < (earlierWinsTies ? kClearly : 1) * earlier.least;
  };
  int best = -1;
  for (size_t i = 0; i < measured.size(); ++i)
    if (measured[i].microseconds >= 0 && mayTake(i) &&
        (best < 0 || isFaster(measured[i], measured[best])))
      best = static_cast<int>(i);
  return best;
}

bool mayBeFaster(double leastMicroseconds,
                 absl::Span<const Measurement> measured) {
  const int best = fastest(measured, /*earlierWinsTies=*/false);
  return best < 0 || measured[best].microseconds > leastMicroseconds;
}

} // namespace aitune
