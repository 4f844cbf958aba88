// Calls that give a view of a tensor or a copy of it, by its strides, where the
// program shows which: a write to one is read through the other. Internal:
// includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_SHOWN_COPIES_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_SHOWN_COPIES_H_

#include <torch/csrc/jit/ir/ir.h>

#include <memory>
#include <vector>

namespace aitune::frontend {

// In the order of the program. ShowUnsaidViews must have been called on the
// graph. What is in a loop may count although it shows nothing. May throw
// LibTorch's exceptions.
std::vector<const torch::jit::Node*> FindShownCopies(
    const std::shared_ptr<torch::jit::Graph>& graph);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_SHOWN_COPIES_H_
