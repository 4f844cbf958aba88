// Programs that compute gradients while they run, as potentials of molecules
// do: forces are the gradient of an energy (torch.autograd.grad, backward).
// LibTorch must record what such a program does, and no other program is to pay
// for that. Internal: includes LibTorch, which this throws the errors of.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_GRADIENTS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_GRADIENTS_H_

#include <ATen/core/stack.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <functional>

namespace aitune::frontend {

// Whether `graph`, or a function or method that it calls, takes a gradient.
bool TakesGradients(const torch::jit::Graph& graph);

// Whether `module`'s forward does.
bool TakesGradients(const torch::jit::Module& module);

// Runs `run`, which takes arguments from `stack` and leaves results there. With
// `gradients` LibTorch records what it does, whatever the caller's mode; the
// arguments are then other tensors in the same memory, in lists and dicts of
// their own, so that nothing is recorded of the caller's, and the results are
// detached. Otherwise nothing is recorded (c10::InferenceMode).
void RunInMode(bool gradients, torch::jit::Stack& stack,
               const std::function<void(torch::jit::Stack&)>& run);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_GRADIENTS_H_
