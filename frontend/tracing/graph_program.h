// A TorchScript graph as the implementation of one operator of a trace.
//
// A model is traced on the CPU, also for a GPU. A graph that LibTorch
// interprets as it is (control flow on data, or the whole model) names devices,
// and holds tensors and modules, that the trace can't replace as it does an
// operator's arguments: on a GPU another copy of it runs.
#ifndef AITUNE_FRONTEND_TRACING_GRAPH_PROGRAM_H_
#define AITUNE_FRONTEND_TRACING_GRAPH_PROGRAM_H_

#include <torch/csrc/jit/ir/ir.h>

#include <memory>
#include <string>

#include "frontend/trace/recorded_op.h"

namespace aitune::frontend {

// Interprets `graph`, which must not change any more: takes its inputs from the
// end of a stack and puts its outputs in their place. Throws LibTorch's errors,
// here for a graph that can't be compiled.
RecordedProgram MakeGraphProgram(std::shared_ptr<torch::jit::Graph> graph,
                                 const std::string& name);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_GRAPH_PROGRAM_H_
