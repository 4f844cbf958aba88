#include "frontend/tracing/untaken_branches.h"

#include <torch/csrc/jit/ir/constants.h>

#include <cstdint>

#include "frontend/torchscript/run_limits.h"
#include "frontend/tracing/probe_program.h"
#include "frontend/values/torch_util.h"
#include "runtime/logging/logging.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;

// So many runs more of a graph cost less than compiling one part.
constexpr int kMostGraphs = 16;
// Of all runs of one.
constexpr double kMostSeconds = 2;
// Of each loop; loops in loops multiply.
constexpr int64_t kMostRounds = 4;

Node* FindOutlined(Block* block, const OutlinedProgram& program) {
  for (Node* node : block->nodes()) {
    if (OutlinedOf(*node) == &program) return node;
    for (Block* inner : node->blocks()) {
      if (Node* const found = FindOutlined(inner, program)) return found;
    }
  }
  return nullptr;
}

void LimitRounds(Block* block) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) LimitRounds(inner);
    if (node->kind() != c10::prim::Loop) continue;
    const torch::jit::WithInsertPoint before(node);
    node->replaceInput(0, node->owningGraph()->insert(
                              c10::prim::min, {node->input(0), kMostRounds}));
  }
}

// Decides what is around `node`: ifs lead to it, and loops begin.
void LeadTo(Node* node) {
  for (Block* block = node->owningBlock(); block->owningNode() != nullptr;
       block = block->owningNode()->owningBlock()) {
    Node* const around = block->owningNode();
    Graph* const graph = around->owningGraph();
    const torch::jit::WithInsertPoint before(around);
    if (around->kind() == c10::prim::If) {
      around->replaceInput(0,
                           graph->insertConstant(block == around->blocks()[0]));
    } else if (around->kind() == c10::prim::Loop) {
      around->replaceInput(
          0, graph->insert(c10::prim::max, {around->input(0), int64_t{1}}));
      around->replaceInput(1, graph->insertConstant(true));
    }
  }
}

}  // namespace

void SeeUntakenBranches(
    const std::shared_ptr<Graph>& graph,
    const std::vector<std::shared_ptr<OutlinedProgram>>& programs,
    const std::function<void(const std::shared_ptr<Graph>&)>& run) {
  const auto is_seen = [](const OutlinedProgram& program) {
    return !program.seen().empty() || !program.why_not().empty();
  };
  std::vector<const OutlinedProgram*> untaken;
  for (const std::shared_ptr<OutlinedProgram>& program : programs) {
    if (is_seen(*program))
      program->StopRecording();
    else
      untaken.push_back(program.get());
  }
  int graphs = 0;
  bool is_late = false;
  for (const OutlinedProgram* program : untaken) {
    if (is_seen(*program)) continue;
    if (is_late || ++graphs > kMostGraphs) break;
    const absl::Status status =
        CatchExceptions(absl::StatusCode::kInternal, "untaken branches", [&] {
          const std::shared_ptr<Graph> copy = graph->copy();
          Node* const node = FindOutlined(copy->block(), *program);
          if (node == nullptr) return absl::OkStatus();
          LimitRounds(copy->block());
          LeadTo(node);
          const std::shared_ptr<Graph> limited = WithLimits(copy);
          if (HasCalls(limited->block())) return absl::OkStatus();
          const RunLimits limits(kMostSeconds, /*limits_sizes=*/true);
          run(limited);
          is_late = limits.IsLate();
          return absl::OkStatus();
        });
    if (!status.ok())
      Log(LogChannel::kGraphBreaks, std::string(status.message()));
  }
}

}  // namespace aitune::frontend
