// The module's forward as one inlined graph with its weights as constants.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_PREPARE_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_PREPARE_H_

#include <torch/csrc/jit/api/module.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/torchscript/submodule_calls.h"

namespace aitune::frontend {

struct PreparedGraph {
  torch::jit::Module module;  // the module that `self` is bound to
  // The graph; its inputs are self, then those of forward.
  std::shared_ptr<torch::jit::Graph> graph;
  // InputQueries::own_arguments, where the caller of PrepareGraph asks for it.
  std::string own_arguments;
};

// Freezes `module` (and folds batch normalisation into convolutions, unless
// rounding the folded weights to the model's dtype would cost accuracy),
// inlines all calls and checks the graph. A module that cannot be frozen keeps
// its attributes, which `notes` then says. Makes the substitutions of
// substitution.h and of `changes`, marks the nodes of disabled submodules, and
// makes the casts of autocast contexts (autocast_contexts.h). With `for_gpu`
// those of weights, which freezing computes, are made as on a GPU.
// `module` must be in eval mode and stays as it is. kInvalidArgument when
// LibTorch cannot process the program, or a substitution does not fit.
absl::StatusOr<PreparedGraph> PrepareGraph(const torch::jit::Module& module,
                                           const SubmoduleChanges& changes,
                                           bool for_gpu,
                                           std::vector<std::string>& notes);

// A module with the same tensors whose forward is inlined, with the
// substitutions and marks of PrepareGraph, but not frozen. Errors as
// PrepareGraph.
absl::StatusOr<torch::jit::Module> ChangeSubmodules(
    const torch::jit::Module& module, const SubmoduleChanges& changes);

// Whether a node of a prepared graph comes from a disabled submodule.
bool IsDisabled(const torch::jit::Node& node);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_PREPARE_H_
