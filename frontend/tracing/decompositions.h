// Operators that the trace holds as several simpler ones.
//
// A few operators of LibTorch are whole layers (an LSTM, an attention block
// with its projections). Written out in TorchScript, they are interpreted like
// any other code of the model, loops unrolled, so that the compiler needs no
// knowledge of them. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_DECOMPOSITIONS_H_
#define AITUNE_FRONTEND_TRACING_DECOMPOSITIONS_H_

#include <ATen/core/function_schema.h>
#include <torch/csrc/jit/ir/ir.h>

#include <memory>
#include <vector>

#include "frontend/tracing/probed_value.h"

namespace aitune::frontend {

// An inlined graph with one input for each argument and one output (a tuple of
// the results if there are several), or null when the operator stays whole.
// The graph lives as long as the process. Thread-safe.
std::shared_ptr<torch::jit::Graph> FindDecomposition(
    const c10::FunctionSchema& schema, const std::vector<ProbedRef>& arguments);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_DECOMPOSITIONS_H_
