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
  torch::jit::Module module;                 // what `self` is bound to
  std::shared_ptr<torch::jit::Graph> graph;  // inputs: self, then forward's
};

// Freezes (batch normalisation folded into convolutions, unless rounding the
// folded weights to the model's dtype would cost accuracy), inlines, checks.
// A module that cannot be frozen keeps its attributes; `notes` says so.
// Substitutions in force and those in `changes` are made, and nodes of disabled
// submodules marked. `module` is in eval mode and stays as it is.
// kInvalidArgument when LibTorch cannot process the program, or a substitution
// does not fit.
absl::StatusOr<PreparedGraph> PrepareGraph(const torch::jit::Module& module,
                                           const SubmoduleChanges& changes,
                                           std::vector<std::string>& notes);

// A module on the same tensors whose forward is inlined, with what PrepareGraph
// does to submodules and operators. Errors as PrepareGraph.
absl::StatusOr<torch::jit::Module> ChangeSubmodules(
    const torch::jit::Module& module, const SubmoduleChanges& changes);

// Whether a node of a prepared graph is of a disabled submodule.
bool IsDisabled(const torch::jit::Node& node);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_PREPARE_H_
