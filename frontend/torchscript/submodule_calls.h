// Calls of submodules inlined with their paths: LibTorch's own inliner keeps
// only the last name of each ("0" for `encoder.layer.0`).
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_SUBMODULE_CALLS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_SUBMODULE_CALLS_H_

#include <torch/csrc/jit/ir/ir.h>

#include <string>

namespace aitune::frontend {

// Inlines every call of a method or function in `graph`, whose first input is
// the module. Each node then carries the path of the submodule that it comes
// from. Calls that are bound at run time stay.
void InlineSubmodules(torch::jit::Graph& graph);

// The path, such as "encoder.layer.0"; empty for the module's own nodes.
// Passes that copy a node keep it.
std::string SubmoduleOf(const torch::jit::Node& node);

// Whether `path` is the submodule `ancestor` or inside of it.
bool IsWithin(const std::string& path, const std::string& ancestor);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_SUBMODULE_CALLS_H_
