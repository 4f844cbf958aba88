#include "frontend/torchscript/neutral_contexts.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "frontend/torchscript/module_objects.h"

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

class Contexts {
 public:
  void RemoveFrom(torch::jit::Function& function) {
    if (!function.isGraphFunction() || !seen_.insert(&function).second) return;
    function.ensure_defined();
    Block* const block = torch::jit::toGraphFunction(function).graph()->block();
    RemoveFrom(*block);
    RemoveObjects(*block);
  }

 private:
  // Those that enter and leave.
  void RemoveFrom(Block& block) {
    for (auto place = block.nodes().begin(); place != block.nodes().end();) {
      Node* const node = *place++;
      for (Block* inner : node->blocks()) RemoveFrom(*inner);
      VisitCallee(*node);
      const bool enters = node->kind() == c10::prim::Enter;
      if ((!enters && node->kind() != c10::prim::Exit) ||
          !IsContext(node->input(0)))
        continue;
      if (enters) node->output()->replaceAllUsesWith(node->input(0));
      node->destroy();
    }
  }

  // The objects that are left, which nothing but their making uses.
  static void RemoveObjects(Block& block) {
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

  void VisitCallee(const Node& node) {
    if (node.kind() == c10::prim::CallFunction) {
      const auto type = node.input(0)->type()->cast<c10::FunctionType>();
      if (type != nullptr) RemoveFrom(*type->function());
    } else if (node.kind() == c10::prim::CallMethod) {
      const auto type = node.input(0)->type()->cast<c10::ClassType>();
      torch::jit::Function* const method =
          type == nullptr || IsContext(node.input(0))
              ? nullptr
              : type->findMethod(node.s(c10::attr::name));
      if (method != nullptr) RemoveFrom(*method);
    }
  }

  std::set<const torch::jit::Function*> seen_;
};

}  // namespace

void RemoveNeutralContexts(const torch::jit::Module& module) {
  Contexts contexts;
  VisitModules(*module._ivalue(), [&](c10::ivalue::Object& inner) {
    for (torch::jit::Function* const method : inner.type()->methods())
      contexts.RemoveFrom(*method);
  });
}

}  // namespace aitune::frontend
