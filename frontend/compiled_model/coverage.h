// How much of a model was compiled, and why LibTorch runs the rest.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_COVERAGE_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_COVERAGE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "frontend/trace/fallback_op.h"
#include "frontend/trace/trace.h"

namespace aitune::frontend {

// The arguments of Trace::make_fallback_region for one region of the plan.
struct RegionDefinition {
  std::vector<int> ops;                  // positions in Trace::ops
  std::vector<ValueId> inputs, outputs;  // values that it reads and computes
};

// All fallbacks of one operator for one reason.
struct FallbackGroup {
  std::string op, reason;
  std::string location;  // of the first call
  int count = 0;         // number of calls
  double flops = 0;      // of all calls together
  int uncounted = 0;     // calls whose FLOPs are not known (flops.h)
};

struct Coverage {
  int ops = 0;           // calls in the trace
  int compiled_ops = 0;  // calls that compiled code runs
  double flops = 0;      // of all calls; see flops.h
  double compiled_flops = 0;
  int uncounted = 0;  // calls that LibTorch runs, whose FLOPs are not known
  // Groups with the most FLOPs come first; among equal ones, the most calls.
  std::vector<FallbackGroup> fallbacks;

  // Shares in [0, 1]; 1 when there is nothing to compile. Of FLOPs, if none are
  // counted, the share of calls.
  double OpShare() const { return ops > 0 ? double(compiled_ops) / ops : 1; }
  double FlopShare() const {
    return flops > 0 ? compiled_flops / flops : OpShare();
  }
};

// The coverage of a trace of which LibTorch runs the calls `fallbacks`.
// symbols[i] is the size of the symbol s`i` with which FLOPs are counted.
Coverage CoverageOf(const Trace& trace, absl::Span<const FallbackOp> fallbacks,
                    absl::Span<const int64_t> symbols);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_COVERAGE_H_
