// Makes a trace of a TorchScript model: the public interface of this folder.
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
  // Loops of static length are unrolled up to these limits, which keep a trace
  // small enough to compile; LibTorch runs longer loops whole.
  int64_t max_loop_iterations = 4096;  // iterations of one loop
  int64_t max_loop_ops = 16384;  // operators of one loop, with loops inside it
  // Operators of the trace; LibTorch runs a longer model whole.
  int64_t max_ops = 200000;
  uint64_t seed = 0;  // of the elements of inputs that tracing makes up
  // The sizes that the trace must be right for, one for each symbol of
  // AssignSymbols(specs), in elements: decisions of the program by sizes are
  // traced as they are made for these. Empty: the largest sizes.
  std::vector<int64_t> anchor;
  // Whether what is traced, on the CPU, is to run on a GPU: of the flags and
  // dtypes that autocast's operators have for each, those for GPUs count.
  bool for_gpu = false;
  // Whether LibTorch runs loops whose length follows from sizes whole, with
  // their bodies compiled (outlining.h): the trace is then right for all
  // lengths. Otherwise they are unrolled, and it is right for one.
  bool rolled_loops = false;
  // Whether what LibTorch runs is outlined where it can be compiled
  // (Trace::outlined).
  bool outlines = true;
  // Whether runs are made for what is outlined to be seen with inputs, which
  // only compiling it needs.
  bool sees_parts = true;
  bool libtorch_only = false;  // Trace::libtorch_only
  // Called with the number of operators run so far, of which all probes count
  // as one, and the number expected, which does not know the lengths of loops.
  std::function<void(int done, int total)> progress;
};

// Traces `model` for inputs of these kinds. If the program decides by the sizes
// of dynamic axes, the trace is for the sizes that lead to the same decisions
// as the anchor: its symbols have shorter ranges, or a single size, and there
// are constraints, each with a note. If `anchor` is empty and the model raises
// for the largest sizes, other sizes are tried. A model that cannot be traced
// at all becomes one operator "aitune::model" with must_fall_back.
// kInvalidArgument when the inputs do not fit forward, or the model itself
// raises for them (the text has its message and the sizes that it was called
// with).
absl::StatusOr<Trace> BuildTrace(const Model& model,
                                 absl::Span<const InputSpec> specs,
                                 const TraceOptions& options);

// The same for the sizes and values of sample inputs: all sizes are static.
absl::StatusOr<Trace> BuildTrace(const Model& model, const ValueList& samples,
                                 const TraceOptions& options);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_BUILD_TRACE_H_
