//===- LimitMemory.h - The most memory of a worker --------------*- C++ -*-===//
//
// A worker generates or runs what nobody has tried: a limit that the system
// keeps makes an allocation without end a failed one, not a machine that swaps.
//
//===----------------------------------------------------------------------===//
#ifndef AITUNE_COMPILER_CANDIDATES_LIMITMEMORY_H_
#define AITUNE_COMPILER_CANDIDATES_LIMITMEMORY_H_

#include <cstdint>

namespace aitune {

/// Lets allocations of this process fail beyond `bytes` of data; 0 takes an
/// earlier limit away. For all of its threads. Without effect in programs with
/// a sanitizer, which reserves more address space than any limit.
void limitMemory(int64_t bytes);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_LIMITMEMORY_H_
