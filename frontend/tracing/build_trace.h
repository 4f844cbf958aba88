// From a TorchScript model to a trace: the public entry of this folder.
//
// The prepared graph is run by a probing interpreter: with concrete inputs, on
// LibTorch's own operators, once for each probe (one combination of sizes of
// the dynamic axes), all probes in lockstep. What the run shows replaces type
// inference: dtypes, ranks, aliasing, taken branches and list contents are
// facts; sizes are fitted as expressions over the symbols from the probes.
#ifndef AITUNE_FRONTEND_TRACING_BUILD_TRACE_H_
#define AITUNE_FRONTEND_TRACING_BUILD_TRACE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/torchscript/input_spec.h"
#include "frontend/torchscript/model.h"
#include "frontend/trace/trace.h"

namespace aitune::frontend {

struct TraceOptions {
  // Loops of static length are unrolled up to these limits; beyond, LibTorch
  // runs the loop.
  int64_t max_loop_iterations = 4096;
  int64_t max_ops = 200000;
  uint64_t seed = 0;
  // The sizes that the trace must be right for, one for each symbol of
  // AssignSymbols(specs): where the program decides by sizes, it is traced as
  // it goes for these. Empty: the largest.
  std::vector<int64_t> anchor;
  // Operators run so far (all probes count once) and the number expected,
  // loops unknown.
  std::function<void(int done, int total)> progress;
};

// Traces `model` for inputs of these kinds. Where it decides by the sizes of
// dynamic axes the trace is for those that decide as the anchor does: its
// symbols have shorter ranges then, or one size, and there are constraints,
// each with a note. Without an anchor of the caller's others than the largest
// sizes are tried where the model raises for these. A model that cannot be
// traced at all becomes one operator "aitune::model" with must_fall_back.
// kInvalidArgument: the inputs do not fit forward, or the model itself raises
// for them (its message, and the sizes that it was called with).
absl::StatusOr<Trace> BuildTrace(const Model& model,
                                 absl::Span<const InputSpec> specs,
                                 const TraceOptions& options);

// The same for the sizes and values of sample inputs: everything is static.
absl::StatusOr<Trace> BuildTrace(const Model& model, const ValueList& samples,
                                 const TraceOptions& options);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_BUILD_TRACE_H_
