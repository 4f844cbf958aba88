// Outlines the parts of control flow that can be compiled
// (frontend/trace/outlined_program.h).
//
// A block of an if or of a loop is split into what LibTorch must do (numbers
// that are read out of tensors, lists that change, writes, inner control flow)
// and groups of functional operators on tensors, as few and as large as their
// order allows. Integers that follow from sizes, constants and lists of these
// are computed in each group that reads them, so that the tracer knows where
// they come from.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_OUTLINING_H_
#define AITUNE_FRONTEND_TRACING_OUTLINING_H_

#include <ATen/core/TensorBody.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <map>
#include <memory>
#include <vector>

#include "frontend/trace/outlined_program.h"

namespace aitune::frontend {

struct OutlinedGraph {
  std::shared_ptr<torch::jit::Graph> graph;
  std::vector<std::shared_ptr<OutlinedProgram>> programs;  // in its order
};

// `graph`, in which groups of operators in the blocks of its nodes are replaced
// by nodes that run them as outlined programs. `constants` has the tensors that
// inputs of `graph`, by their places, are in each call: a program's model has
// them. A group of one cheap operator stays as it is. Where there is nothing to
// outline, or LibTorch can't, the result is `graph` itself.
OutlinedGraph OutlineBlocks(const std::shared_ptr<torch::jit::Graph>& graph,
                            const std::map<size_t, at::Tensor>& constants);

// The same for all of `graph`, the forward of `module` with calls inlined: its
// first input is the module. Attributes that no call writes are constants; with
// `for_gpu` none are where that is not certain.
OutlinedGraph OutlineForward(const std::shared_ptr<torch::jit::Graph>& graph,
                             const torch::jit::Module& module, bool for_gpu);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_OUTLINING_H_
