// Which of a kernel's candidates is the fastest, from their measurements.
//
// Where the fastest run of each is known, these are compared: what else the
// machine does only makes runs longer. Thread-safe.
#ifndef AITUNE_COMPILER_CANDIDATES_FASTESTCANDIDATE_H
#define AITUNE_COMPILER_CANDIDATES_FASTESTCANDIDATE_H

#include "absl/types/span.h"
#include "compiler/measure/Measure.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace aitune {

/// The position of the fastest candidate for which `mayTake` holds; -1 if there
/// is none or all failed. `earlierWinsTies` is that of RaceRules.
int fastest(
    absl::Span<const Measurement> measured, bool earlierWinsTies,
    llvm::function_ref<bool(size_t)> mayTake = [](size_t) { return true; });

/// Whether a candidate that takes at least `leastMicroseconds` may be faster
/// than all candidates in `measured`.
bool mayBeFaster(double leastMicroseconds,
                 absl::Span<const Measurement> measured);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_FASTESTCANDIDATE_H
