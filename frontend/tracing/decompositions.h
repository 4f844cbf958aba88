// Operators that a trace contains as several simpler operators.
//
// A few operators of LibTorch are whole layers (an attention block with its
// projections) or several steps (the columns of patches). They are written out in TorchScript here and
// interpreted like any other code of the model, with loops unrolled, so that
// the compiler does not have to know them. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_DECOMPOSITIONS_H_
#define AITUNE_FRONTEND_TRACING_DECOMPOSITIONS_H_

#include <ATen/core/function_schema.h>
#include <torch/csrc/jit/ir/ir.h>

#include <memory>
#include <vector>

#include "frontend/tracing/probed_value.h"

namespace aitune::frontend {

// The graph to interpret instead of a call of the operator with these
// arguments: inlined, with one input for each argument and one output (a tuple
// of the results if there are several). Null when the operator is not
// decomposed. The graph lives as long as the process. Thread-safe.
std::shared_ptr<torch::jit::Graph> FindDecomposition(
    const c10::FunctionSchema& schema, const std::vector<ProbedRef>& arguments);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_DECOMPOSITIONS_H_
