// Where each buffer of a plan lies in the arena.
//
// The steps of a plan run one after another, so two buffers may share memory
// when no step needs both. Buffers are placed from the largest to the smallest,
// each into the tightest gap between the buffers that live at the same time
// ("greedy by size"): in practice within a few percent of the lower bound, the
// largest number of bytes alive at one step.
#ifndef AITUNE_RUNTIME_EXECUTABLE_MEMORY_PLAN_H_
#define AITUNE_RUNTIME_EXECUTABLE_MEMORY_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace aitune {

// Alignment of every buffer in bytes: that of CUDA's own allocations ("at least
// 256 bytes", CUDA C++ Programming Guide), which libraries' scratch memory has
// (LibraryCall::Run). A CPU needs less: 64 are a cache line and an AVX-512
// register.
constexpr int64_t kBufferAlignment = 256;

// A buffer and the steps that need it.
struct BufferRequest {
  int64_t bytes = 0;  // the bytes asked for, at least 0
  // The step that writes it and the last one that reads it, both included.
  int32_t first_step = 0;
  int32_t last_step = 0;
};

struct MemoryPlan {
  // For each request the bytes from the beginning of the arena, a multiple of
  // the alignment.
  std::vector<int64_t> offsets;
  int64_t arena_bytes = 0;  // a multiple of the alignment
};

// Places all buffers. Buffers whose steps overlap get disjoint memory; those
// of 0 bytes get offset 0. The sum of all bytes (rounded up) must be below
// 2^63. Quadratic in the number of buffers at worst.
MemoryPlan PlanMemory(absl::Span<const BufferRequest> requests);

// The largest sum of (rounded up) bytes that one step needs: no plan has a
// smaller arena.
int64_t PeakBytes(absl::Span<const BufferRequest> requests);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_EXECUTABLE_MEMORY_PLAN_H_
