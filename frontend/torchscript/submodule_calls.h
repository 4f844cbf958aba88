// Inlines calls of submodules and keeps their paths. LibTorch's own inliner
// keeps only the last part of each path ("0" for `encoder.layer.0`).
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

// How submodules, named by their paths, are to be compiled.
struct SubmoduleChanges {
  std::set<std::string> disabled;  // submodules that LibTorch runs
  // The source of the method that replaces a submodule's forward.
  std::map<std::string, std::string> substitutes;

  bool empty() const { return disabled.empty() && substitutes.empty(); }
};

// Inlines every call of a method or function in `graph`, whose first input is
// the module. Each node then carries the path of the submodule that it comes
// from. Calls that are bound at run time stay. `substitutes` (null: none) are
// the methods to inline instead of a submodule's forward, by its path; they
// must take and return the same types. Those that were inlined are removed from
// it.
void InlineSubmodules(
    torch::jit::Graph& graph,
    std::map<std::string, torch::jit::GraphFunction*>* substitutes = nullptr);

// Compiles the source of a method, of any name, as a method of the type of
// `submodule`. The type owns the result. kInvalidArgument when the source is
// not one method, or its types are not those of forward.
absl::StatusOr<torch::jit::GraphFunction*> DefineSubstitute(
    torch::jit::Module submodule, const std::string& source);

// The path of the submodule that a node comes from, such as "encoder.layer.0";
// empty for the module's own nodes. Passes that copy a node copy the path.
std::string SubmoduleOf(const torch::jit::Node& node);

// Whether `path` is the submodule `ancestor` or inside of it.
bool IsWithin(const std::string& path, const std::string& ancestor);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_SUBMODULE_CALLS_H_
