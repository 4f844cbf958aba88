// Programs without futures. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_INLINE_FORKS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_INLINE_FORKS_H_

#include <torch/csrc/jit/ir/ir.h>

namespace aitune::frontend {

// Puts what each torch.jit.fork runs in its place, and its result in the place
// of the future: what waits for one has it. Futures may be in lists, tuples and
// dicts, which LibTorch's own pass for it leaves behind with other types than
// their elements have. Calls that a fork makes are not inlined.
void InlineForks(torch::jit::Graph& graph);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_INLINE_FORKS_H_
