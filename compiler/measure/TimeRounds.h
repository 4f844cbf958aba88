// Times candidates in rounds, and goes on until what it found can be trusted.
//
// What disturbs a run, such as another process that takes a core for a time
// slice, only ever makes it longer, and a kernel on several threads waits for
// the slowest. Of three runs all may be disturbed, and then neither their
// median nor their minimum says what the kernel takes. But runs that are
// disturbed differ, while those that are not are nearly alike.
//
// Nothing here knows a clock: `run` does.
#ifndef AITUNE_COMPILER_MEASURE_TIMEROUNDS_H
#define AITUNE_COMPILER_MEASURE_TIMEROUNDS_H

#include <vector>

#include "mlir/Support/LLVM.h"

namespace aitune {

/// Whether the fastest runs agree, so that they were not disturbed: the three
/// fastest are within a tenth. `microseconds` in any order.
bool isSettled(mlir::ArrayRef<double> microseconds);

/// Runs the candidates, whose number is that of `microseconds`, in turn in
/// `rounds` rounds, and, with `settles`, those for which isSettled does not
/// hold in further ones, until it does or twice the time of the first rounds
/// has passed. `run(i)` runs candidate i once and returns its microseconds, or
/// a negative number if it failed; it is then called for that one no more.
/// Appends the times to microseconds[i].
void timeRounds(int rounds, bool settles,
                mlir::function_ref<double(size_t)> run,
                std::vector<std::vector<double>> &microseconds);

} // namespace aitune

#endif // AITUNE_COMPILER_MEASURE_TIMEROUNDS_H
