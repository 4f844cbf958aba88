#include "frontend/compiled_model/coverage.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "frontend/compiled_model/flops.h"

namespace aitune::frontend {

Coverage CoverageOf(const Trace& trace, absl::Span<const FallbackOp> fallbacks,
                    absl::Span<const int64_t> symbols) {
  Coverage coverage;
  std::vector<double> flops;
  for (const TraceOp& op : trace.ops) {
    flops.push_back(CountFlops(trace, op, symbols));
    coverage.flops += flops.back();
  }
  coverage.ops = static_cast<int>(trace.ops.size());
  coverage.compiled_ops = coverage.ops;
  coverage.compiled_flops = coverage.flops;

  std::map<std::pair<std::string, std::string>, FallbackGroup> groups;
  std::set<int> seen;
  for (const FallbackOp& fallback : fallbacks) {
    if (!seen.insert(fallback.trace_op).second) continue;
    FallbackGroup& group = groups[{fallback.op, fallback.reason}];
    if (group.count++ == 0) {
      group.op = fallback.op;
      group.reason = fallback.reason;
      group.location = fallback.location;
    }
    group.flops += flops[fallback.trace_op];
    if (HasUnknownFlops(trace, trace.ops[fallback.trace_op])) {
      ++group.uncounted;
      ++coverage.uncounted;
    }
    --coverage.compiled_ops;
    coverage.compiled_flops -= flops[fallback.trace_op];
  }
  for (auto& [key, group] : groups) {
    coverage.fallbacks.push_back(std::move(group));
  }
  std::sort(coverage.fallbacks.begin(), coverage.fallbacks.end(),
            [](const FallbackGroup& a, const FallbackGroup& b) {
              return std::tie(a.flops, a.uncounted, a.count, a.op) >
                     std::tie(b.flops, b.uncounted, b.count, b.op);
            });
  // Sums of equal terms in another order may differ in the last bit.
  coverage.compiled_flops = std::max(coverage.compiled_flops, 0.0);
  return coverage;
}

}  // namespace aitune::frontend
