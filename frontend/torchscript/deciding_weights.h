// Finds weights that a program decides by: from whose elements alone it makes a
// number, a truth value or a size. Other weights that are nearly the same, such
// as what their codes of 8 bits stand for, may make it another program, which
// no check of its results on inputs tells.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_DECIDING_WEIGHTS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_DECIDING_WEIGHTS_H_

#include <set>
#include <string>

#include "frontend/torchscript/model.h"

namespace aitune::frontend {

// The names of these tensors, as Model's weights are named: "layer.weight".
// What is made of inputs as well does not count: it changes with the weights'
// codes in a build too. Calls that can't be followed, such as of interfaces,
// count as if they read an input. Throws what LibTorch throws. Thread-safe.
std::set<std::string> DecidingWeights(const Model& model);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_DECIDING_WEIGHTS_H_
