#include "frontend/torchscript/neutral_contexts.h"

#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <set>
#include <string>

#include "frontend/torchscript/called_functions.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

bool IsContext(const Value* value) {
  static const auto* const kClasses = new std::set<std::string>{
      "__torch__.torch.autograd.grad_mode.no_grad",
      "__torch__.torch.autograd.profiler.record_function"};
  const auto type = value->type()->cast<c10::ClassType>();
  return type != nullptr && type->name() &&
         kClasses->count(type->name()->qualifiedName()) > 0;
}

// Removes the nodes that enter and leave contexts.
void RemoveUses(Block& block) {
  for (auto place = block.nodes().begin(); place != block.nodes().end();) {
    Node* const node = *place++;
    for (Block* inner : node->blocks()) RemoveUses(*inner);
    const bool enters = node->kind() == c10::prim::Enter;
    if ((!enters && node->kind() != c10::prim::Exit) ||
        !IsContext(node->input(0)))
      continue;
    if (enters) node->output()->replaceAllUsesWith(node->input(0));
    node->destroy();
  }
}

// Removes the objects that are left, which nothing but their making uses.
void RemoveObjects(Block& block) {
  for (auto place = block.nodes().rbegin(); place != block.nodes().rend();) {
    Node* const node = *place++;
    for (Block* inner : node->blocks()) RemoveObjects(*inner);
    if (node->kind() != c10::prim::CreateObject || !IsContext(node->output()))
      continue;
    const torch::jit::use_list uses = node->output()->uses();
    const bool is_only_made =
        std::all_of(uses.begin(), uses.end(), [](const torch::jit::Use& use) {
          return use.offset == 0 &&
                 ((use.user->kind() == c10::prim::CallMethod &&
                   !use.user->hasUses()) ||
                  use.user->kind() == c10::prim::SetAttr);
        });
    if (!is_only_made) continue;
    for (const torch::jit::Use& use : uses) use.user->destroy();
    node->destroy();
    place = block.nodes().rbegin();
  }
}

}  // namespace

void RemoveNeutralContexts(const torch::jit::Module& module) {
  VisitFunctions(module, [](Block& block) {
    RemoveUses(block);
    RemoveObjects(block);
  });
}

}  // namespace aitune::frontend
