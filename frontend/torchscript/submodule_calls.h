// Calls of submodules inlined with their paths: LibTorch's own inliner keeps
// only the last name of each ("0" for `encoder.layer.0`).
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_SUBMODULE_CALLS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_SUBMODULE_CALLS_H_

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <map>
#include <set>
#include <string>

#include "absl/status/statusor.h"

namespace aitune::frontend {

// What is asked of submodules when a model is compiled, by their paths.
struct SubmoduleChanges {
  std::set<std::string> disabled;
  std::map<std::string, std::string> substitutes;  // the source of a method

  bool empty() const { return disabled.empty() && substitutes.empty(); }
};

// Inlines every call of a method or function in `graph`, whose first input is
// the module. Each node then carries the path of the submodule that it comes
// from. Calls that are bound at run time stay. `substitutes` are the methods
// that are inlined in place of a submodule's forward, by its path; those that
// were are removed. They must take and give the same types.
void InlineSubmodules(
    torch::jit::Graph& graph,
    std::map<std::string, torch::jit::GraphFunction*>* substitutes = nullptr);

// Compiles the source of a method, whatever its name, into the type of
// `submodule` and gives it. kInvalidArgument when it is not one method, or its
// types are not those of forward.
absl::StatusOr<torch::jit::GraphFunction*> DefineSubstitute(
    torch::jit::Module submodule, const std::string& source);

// The path, such as "encoder.layer.0"; empty for the module's own nodes.
// Passes that copy a node keep it.
std::string SubmoduleOf(const torch::jit::Node& node);

// Whether `path` is the submodule `ancestor` or inside of it.
bool IsWithin(const std::string& path, const std::string& ancestor);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_SUBMODULE_CALLS_H_
