// torch.compiler.substitute_in_graph: replaces an operator in compiled models
// by a function written in TorchScript.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_SUBSTITUTION_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_SUBSTITUTION_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/torchscript/model.h"

namespace torch::jit {
struct Graph;
}  // namespace torch::jit

namespace aitune::frontend {

// Replaces each call of the operator `op`, such as "mylib::gate", by the one
// function that `source` defines, in graphs that are compiled from now on:
//
//   SubstituteInGraph("aten::hardswish", R"(
//   def hardswish(x: Tensor):
//       return x * torch.clamp(x + 3., 0., 6.) / 6.
//   )");
//
// The function must take the same arguments and compute the same; eager still
// runs the operator. A second replacement of an operator replaces the first; an
// empty source removes it. kInvalidArgument for source that is not one
// function, with LibTorch's text. Thread-safe.
absl::Status SubstituteInGraph(const std::string& op,
                               const std::string& source);

// Makes the replacements in `graph`, which is inlined. kInvalidArgument when a
// function takes other arguments than its operator.
absl::Status ApplySubstitutions(torch::jit::Graph& graph);

// The source of each current replacement, by operator. Thread-safe.
std::map<std::string, std::string> Substitutions();
// The same as text, for the keys of compiled code. Thread-safe.
std::string SubstitutionsText();
// The current replacements of operators that `model` calls. Thread-safe.
absl::StatusOr<std::map<std::string, std::string>> SubstitutionsOf(
    const Model& model);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_SUBSTITUTION_H_
