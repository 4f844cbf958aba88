// Functions that stand as TorchScript text in this program, such as what an
// operator is replaced by. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_SOURCE_GRAPH_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_SOURCE_GRAPH_H_

#include <torch/csrc/jit/ir/ir.h>

#include <memory>

namespace aitune::frontend {

// The graph of `function` of the text `source`, inlined and without what nobody
// reads. It is made once, lives as long as the process and must not be changed.
// Throws what LibTorch throws. Thread-safe.
std::shared_ptr<torch::jit::Graph> GraphOfSource(const char* source,
                                                 const char* function);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_SOURCE_GRAPH_H_
