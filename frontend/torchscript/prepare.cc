#include "frontend/torchscript/prepare.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/inline_fork_wait.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/submodule_calls.h"
#include "frontend/torchscript/substitution.h"
#include "frontend/torchscript/torch_util.h"

namespace aitune::frontend {
namespace {

// Freezing leaves the frozen program in the compilation unit of the module that
// was frozen, for as long as that lives.
void Forget(torch::jit::Graph& program) {
  while (!program.outputs().empty()) {
    program.eraseOutput(program.outputs().size() - 1);
  }
  for (auto node = program.nodes().rbegin(); node != program.nodes().rend();) {
    torch::jit::Node* dead = *node;
    ++node;
    dead->destroy();
  }
}

c10::Symbol DisabledAttribute() {
  static const c10::Symbol symbol = c10::Symbol::attr("aitune_disabled");
  return symbol;
}

void MarkDisabled(torch::jit::Block* block,
                  const std::set<std::string>& disabled) {
  for (torch::jit::Node* node : block->nodes()) {
    const std::string path = SubmoduleOf(*node);
    if (std::any_of(
            disabled.begin(), disabled.end(),
            [&](const std::string& name) { return IsWithin(path, name); })) {
      node->i_(DisabledAttribute(), 1);
    }
    for (torch::jit::Block* inner : node->blocks())
      MarkDisabled(inner, disabled);
  }
}

// A module on the same tensors whose forward is what shall be compiled.
absl::Status Change(const std::set<std::string>& disabled,
                    torch::jit::Module& module) {
  return CatchExceptions(
      absl::StatusCode::kInvalidArgument, "preparing the graph", [&] {
        module = module.clone();
        torch::jit::Graph& graph = *module.get_method("forward").graph();
        InlineSubmodules(graph);
        MarkDisabled(graph.block(), disabled);
        return ApplySubstitutions(graph);
      });
}

}  // namespace

bool IsDisabled(const torch::jit::Node& node) {
  return node.hasAttribute(DisabledAttribute());
}

absl::StatusOr<PreparedGraph> PrepareGraph(
    const torch::jit::Module& original, const std::set<std::string>& disabled,
    std::vector<std::string>& notes) {
  const c10::NoGradGuard no_grad;
  torch::jit::Module module = original;
  if (!disabled.empty() || !SubstitutionsText().empty()) {
    if (absl::Status status = Change(disabled, module); !status.ok())
      return status;
  }
  PreparedGraph prepared;
  prepared.module = module;
  bool was_frozen_here = false;
  // A module without the attribute `training` was frozen before.
  if (module.hasattr("training")) {
    const absl::Status frozen =
        CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
          // Numbers are not folded into weights: that is a copy of each weight
          // for the sake of an epilogue, rounded once more.
          prepared.module = torch::jit::freeze(module, /*preserved_attrs=*/{},
                                               /*optimize_numerics=*/false);
          return absl::OkStatus();
        });
    was_frozen_here = frozen.ok();
    if (!frozen.ok()) {
      notes.push_back(
          absl::StrCat("the module cannot be frozen: ", frozen.message()));
    }
  }
  const absl::Status status = CatchExceptions(
      absl::StatusCode::kInvalidArgument, "preparing the graph", [&] {
        const std::shared_ptr<torch::jit::Graph> program =
            prepared.module.get_method("forward").graph();
        prepared.graph = program->copy();
        if (was_frozen_here) Forget(*program);
        torch::jit::Inline(*prepared.graph);
        torch::jit::InlineForkWait(prepared.graph);
        torch::jit::EliminateDeadCode(prepared.graph);
        prepared.graph->lint();
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return prepared;
}

}  // namespace aitune::frontend
