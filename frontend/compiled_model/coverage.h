// How much of a model the compiler took, and why not the rest.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_COVERAGE_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_COVERAGE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "frontend/trace/trace.h"

namespace aitune::frontend {

// An operator call that LibTorch runs, and why.
struct FallbackOp {
  int trace_op = 0;      // position in Trace::ops
  std::string op;        // "aten::topk" or "aten::add.Tensor"
  std::string location;  // TorchScript source, "model.py:12"
  std::string scope;     // the submodule, such as "encoder.layer.3"
  std::string reason;
};

// What Trace::make_fallback_region needs for one region of the plan.
struct RegionDefinition {
  std::vector<int> ops;
  std::vector<ValueId> inputs, outputs;
};

// Fallbacks of one operator for one reason.
struct FallbackGroup {
  std::string op, reason;
  std::string location;  // of the first
  int count = 0;
  double flops = 0;
};

struct Coverage {
  int ops = 0, compiled_ops = 0;  // of the trace: views and constants folded
  double flops = 0, compiled_flops = 0;  // see flops.h
  std::vector<FallbackGroup> fallbacks;  // most FLOPs, then most calls, first

  // Shares in [0, 1]; 1 when there is nothing to compile.
  double OpShare() const { return ops > 0 ? double(compiled_ops) / ops : 1; }
  double FlopShare() const { return flops > 0 ? compiled_flops / flops : 1; }
};

// symbols[i] is the size that s`i` has when FLOPs are counted.
Coverage CoverageOf(const Trace& trace, absl::Span<const FallbackOp> fallbacks,
                    absl::Span<const int64_t> symbols);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_COVERAGE_H_
