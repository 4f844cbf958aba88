// torch.compiler.substitute_in_graph: a replacement for an operator, written in
// TorchScript, that is compiled in its place.
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
// It must take the same arguments and compute the same; eager keeps the
// operator. A second replacement of an operator takes the place of the first;
// an empty source takes it back. kInvalidArgument for source that is not one
// function, with LibTorch's text. Thread-safe.
absl::Status SubstituteInGraph(const std::string& op,
                               const std::string& source);

// Makes the replacements in `graph`, which is inlined. kInvalidArgument when
// one takes other arguments than the operator.
absl::Status ApplySubstitutions(torch::jit::Graph& graph);

// The replacements in force, by operator.
std::map<std::string, std::string> Substitutions();
// The same as text: part of what compiled code depends on.
std::string SubstitutionsText();
// Those whose operator `model` calls.
absl::StatusOr<std::map<std::string, std::string>> SubstitutionsOf(
    const Model& model);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_SUBSTITUTION_H_
