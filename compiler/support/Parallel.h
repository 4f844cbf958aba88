// Runs independent pieces of work on several threads.
#ifndef AITUNE_COMPILER_SUPPORT_PARALLEL_H
#define AITUNE_COMPILER_SUPPORT_PARALLEL_H

#include <cstddef>
#include <functional>

namespace aitune {

/// `asked` threads, or as many as the machine has if it is not positive.
int threadsOrAll(int asked);

/// Calls `work` once for each of 0 ... count - 1, on at most `threads` threads,
/// the calling one included, and returns when all calls have returned. `work`
/// must not throw. Thread-safe.
void inParallel(size_t count, int threads,
                const std::function<void(size_t)> &work);

} // namespace aitune

#endif // AITUNE_COMPILER_SUPPORT_PARALLEL_H
