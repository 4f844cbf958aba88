// Counts calls of operator new, which linking this replaces, for tests that the
// hot path allocates nothing.
#ifndef AITUNE_RUNTIME_EXECUTABLE_ALLOCATION_COUNTER_H_
#define AITUNE_RUNTIME_EXECUTABLE_ALLOCATION_COUNTER_H_

#include <cstdint>

namespace aitune {

// Whether allocations are counted: the sanitizers have replacements of their
// own.
bool CountsAllocations();

// The allocations of the process so far, of all threads; 0 where they are not
// counted. Thread-safe.
int64_t Allocations();

}  // namespace aitune

#endif  // AITUNE_RUNTIME_EXECUTABLE_ALLOCATION_COUNTER_H_
