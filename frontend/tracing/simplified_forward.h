// The program of a model that LibTorch runs whole, made simpler, so that more
// of it can be outlined (outlining.h). LibTorch's own passes that freeze and
// optimise programs are not used: they would make constants of what calls
// change, and lose writes (torchscript/kept_writes.h).
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_SIMPLIFIED_FORWARD_H_
#define AITUNE_FRONTEND_TRACING_SIMPLIFIED_FORWARD_H_

#include <ATen/core/TensorBody.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <unordered_map>

#include "frontend/torchscript/state_writes.h"

namespace aitune::frontend {

// Makes constants of the numbers, strings and flags that `graph`, the forward
// of `module` with calls inlined, reads from attributes that no call sets, and
// of what follows from them; branches that they decide take the place of their
// ifs. `writes` are those of `module`. May throw LibTorch's exceptions.
void FoldFixedAttributes(torch::jit::Graph& graph,
                         const torch::jit::Module& module,
                         const StateWrites& writes);

// The tensors that `graph` reads from attributes and that no call is known to
// change: who relies on it looks at their versions (at::Tensor::_version).
std::unordered_map<torch::jit::Value*, at::Tensor> FixedTensors(
    torch::jit::Graph& graph, const torch::jit::Module& module,
    const StateWrites& writes);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_SIMPLIFIED_FORWARD_H_
