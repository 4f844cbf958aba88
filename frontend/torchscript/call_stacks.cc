#include "frontend/torchscript/call_stacks.h"

#include <torch/csrc/jit/api/function_impl.h>

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace aitune::frontend {
namespace {

using torch::jit::InlinedCallStack;
using torch::jit::InlinedCallStackPtr;
// By the original, which is kept: its address must not be another's meanwhile.
using Anchored =
    std::unordered_map<InlinedCallStack*,
                       std::pair<InlinedCallStackPtr, InlinedCallStackPtr>>;

InlinedCallStackPtr Anchor(InlinedCallStack& stack) {
  static auto* const function = new torch::jit::GraphFunction(
      "forward", std::make_shared<torch::jit::Graph>(), nullptr);
  const std::vector<torch::jit::InlinedCallStackEntry> entries = stack.vec();
  InlinedCallStackPtr anchored;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    const auto& [unused, range, instance] = *entry;
    anchored = anchored == nullptr ? c10::make_intrusive<InlinedCallStack>(
                                         function, range, instance)
                                   : c10::make_intrusive<InlinedCallStack>(
                                         anchored, function, range, instance);
  }
  return anchored;
}

void AnchorBlock(torch::jit::Block* block, Anchored& anchored) {
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks())
      AnchorBlock(inner, anchored);
    const std::optional<InlinedCallStackPtr> stack = node->callstack();
    if (!stack || *stack == nullptr) continue;
    auto& [original, known] = anchored[stack->get()];
    if (known == nullptr) {
      original = *stack;
      known = Anchor(**stack);
    }
    node->setCallStack(known);
  }
}

}  // namespace

void AnchorCallStacks(torch::jit::Graph& graph) {
  Anchored anchored;
  AnchorBlock(graph.block(), anchored);
}

}  // namespace aitune::frontend
