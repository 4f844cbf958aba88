// Sums and products with numbers that LibTorch's own optimisation takes for
// neutral. Internal: includes LibTorch.
//
// It replaces `x + 0`, `x - 0` and `x * 1` by x where the numbers are integers.
// But x may be of bools, and its product an integer; and -0.0 + 0 is 0.0, whose
// reciprocal has the other sign.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_NEUTRAL_NUMBERS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_NEUTRAL_NUMBERS_H_

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <memory>

namespace aitune::frontend {

// `module`, if forward has none of these. Otherwise a copy, which shares its
// tensors, with forward inlined, in which LibTorch does not recognise them. May
// throw LibTorch's exceptions.
torch::jit::Module WithHiddenNeutralNumbers(const torch::jit::Module& module);

// Makes them in `graph`, of a program that was made from such a module, what
// they were.
void ShowNeutralNumbers(const std::shared_ptr<torch::jit::Graph>& graph);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_NEUTRAL_NUMBERS_H_
