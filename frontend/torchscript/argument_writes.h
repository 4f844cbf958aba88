// Writes of a program to tensors of its caller's. Internal: includes LibTorch.
//
// LibTorch's analysis of aliases (AliasDb) goes by operators' schemas. It is
// too trusting where an operator may give its tensor itself and its schema
// doesn't say so (a dropout that drops nothing), and too careful where a view
// of a new tensor comes out of a list (`torch.chunk`): to it that may be any
// tensor.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_ARGUMENT_WRITES_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_ARGUMENT_WRITES_H_

#include <torch/csrc/jit/ir/ir.h>

#include <memory>

namespace aitune::frontend {

// Replaces operators that may give their tensor itself by one whose schema says
// so. The graph is then for analyses alone. Calls must be inlined. May throw
// LibTorch's exceptions.
void ShowUnsaidViews(torch::jit::Graph& graph);

// The first operators that do something to a tensor that an argument is or
// holds; null: none does.
struct ArgumentWrites {
  const torch::jit::Node* write = nullptr;  // may write to it
  // May change its sizes, or the memory that it or a view of it has.
  const torch::jit::Node* resize = nullptr;
};

// ShowUnsaidViews must have been called on the graph. May throw LibTorch's
// exceptions.
ArgumentWrites FindArgumentWrites(
    const std::shared_ptr<torch::jit::Graph>& graph);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_ARGUMENT_WRITES_H_
