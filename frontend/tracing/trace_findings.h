// What a trace of a program finds that another one must know from the start.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_TRACE_FINDINGS_H_
#define AITUNE_FRONTEND_TRACING_TRACE_FINDINGS_H_

#include <ATen/core/TensorBody.h>
#include <torch/csrc/jit/ir/ir.h>

#include <cstddef>
#include <map>
#include <set>
#include <unordered_map>

namespace aitune::frontend {

struct TraceFindings {
  // Loops of the graph that LibTorch runs whole, with the reasons.
  std::unordered_map<const torch::jit::Node*, const char*> whole_loops;
  // The inputs, by their places in Trace::inputs, that the program writes.
  std::set<size_t> written_inputs;
  // TracedStorage::overwritten of each of the model's own tensors, and of these
  // inputs.
  std::map<const at::Tensor*, std::set<int>> overwritten_reads;
  std::map<size_t, std::set<int>> overwritten_inputs;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_TRACE_FINDINGS_H_
