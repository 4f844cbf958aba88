// A module's tensors that happen to be equal. Internal: includes LibTorch.
//
// When LibTorch freezes a module, it makes one constant of all tensors with the
// same elements. So the biases of a new network, which are all zero, would be
// one weight, and none of them could be replaced by itself.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_EQUAL_TENSORS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_EQUAL_TENSORS_H_

#include <torch/csrc/jit/api/module.h>

#include <string>
#include <vector>

namespace aitune::frontend {

// The names, as state_dict gives them, of the floating-point tensors with more
// than one element that equal an earlier one in other memory, bit by bit. May
// throw LibTorch's exceptions.
std::vector<std::string> NamesOfEqualTensors(const torch::jit::Module& module);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_EQUAL_TENSORS_H_
