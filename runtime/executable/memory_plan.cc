#include "runtime/executable/memory_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace aitune {
namespace {

int64_t RoundUp(int64_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

bool Overlap(const BufferRequest& a, const BufferRequest& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

}  // namespace

MemoryPlan PlanMemory(absl::Span<const BufferRequest> requests) {
  MemoryPlan plan;
  plan.offsets.assign(requests.size(), 0);
  std::vector<size_t> by_size(requests.size());
  std::iota(by_size.begin(), by_size.end(), 0);
  std::sort(by_size.begin(), by_size.end(), [&](size_t a, size_t b) {
    return requests[a].bytes != requests[b].bytes
               ? requests[a].bytes > requests[b].bytes
               : a < b;
  });

  std::vector<size_t> placed;  // ordered by offset
  for (size_t buffer : by_size) {
    const int64_t bytes = RoundUp(requests[buffer].bytes);
    if (bytes == 0) continue;
    int64_t best = -1, best_gap = std::numeric_limits<int64_t>::max();
    int64_t end = 0;  // end of the buffers alive at the same time, so far
    for (size_t other : placed) {
      if (!Overlap(requests[buffer], requests[other])) continue;
      const int64_t gap = plan.offsets[other] - end;
      if (gap >= bytes && gap < best_gap) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, plan.offsets[other] + RoundUp(requests[other].bytes));
    }
    plan.offsets[buffer] = best >= 0 ? best : end;
    plan.arena_bytes = std::max(plan.arena_bytes, plan.offsets[buffer] + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), buffer,
                                   [&](size_t a, size_t b) {
                                     return plan.offsets[a] < plan.offsets[b];
                                   }),
                  buffer);
  }
  return plan;
}

int64_t PeakBytes(absl::Span<const BufferRequest> requests) {
  // What each step changes of the bytes alive.
  std::map<int32_t, int64_t> change;
  for (const BufferRequest& request : requests) {
    change[request.first_step] += RoundUp(request.bytes);
    change[request.last_step + 1] -= RoundUp(request.bytes);
  }
  int64_t alive = 0, peak = 0;
  for (const auto& [step, bytes] : change) {
    alive += bytes;
    peak = std::max(peak, alive);
  }
  return peak;
}

}  // namespace aitune
