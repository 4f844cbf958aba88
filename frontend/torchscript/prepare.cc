#include "frontend/torchscript/prepare.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/inline_fork_wait.h>
#include <torch/csrc/jit/passes/inliner.h>

#include "absl/strings/str_cat.h"
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

}  // namespace

absl::StatusOr<PreparedGraph> PrepareGraph(const torch::jit::Module& module,
                                           std::vector<std::string>& notes) {
  const c10::NoGradGuard no_grad;
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
