#include "frontend/torchscript/class_contexts.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "frontend/torchscript/module_objects.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Function;
using torch::jit::Node;
using torch::jit::Value;

// The method `name` of a class of the program's; null for another value.
Function* MethodOf(const Value& object, const char* name) {
  const auto type = object.type()->cast<c10::ClassType>();
  if (type == nullptr || !type->name() ||
      absl::StartsWith(type->name()->qualifiedName(), "__torch__.torch."))
    return nullptr;
  return type->findMethod(name);
}

class Contexts {
 public:
  void VisitFunction(Function* function) {
    if (function == nullptr || !function->isGraphFunction() ||
        !seen_.insert(function).second)
      return;
    function->ensure_defined();
    Visit(torch::jit::toGraphFunction(*function).graph()->block());
  }

 private:
  void Visit(Block* block) {
    const std::vector<Node*> nodes(block->nodes().begin(),
                                   block->nodes().end());
    for (Node* node : nodes) {
      for (Block* inner : node->blocks()) Visit(inner);
      if (node->kind() == c10::prim::Enter) {
        Call(node, "__enter__", 0);
      } else if (node->kind() == c10::prim::Exit) {
        Call(node, "__exit__", kOfException);
      } else if (node->kind() == c10::prim::CallFunction) {
        const auto type = node->input(0)->type()->cast<c10::FunctionType>();
        if (type != nullptr) VisitFunction(type->function());
      } else if (node->kind() == c10::prim::CallMethod) {
        const auto type = node->input(0)->type()->cast<c10::ClassType>();
        if (type != nullptr)
          VisitFunction(type->findMethod(node->s(c10::attr::name)));
      }
    }
  }

  // The type, value and traceback of an exception: None where there is none.
  static constexpr size_t kOfException = 3;

  void Call(Node* node, const char* name, size_t nones) {
    Function* const method = MethodOf(*node->input(0), name);
    if (method == nullptr) return;
    torch::jit::Graph& graph = *node->owningGraph();
    const torch::jit::WithInsertPoint at(node);
    Node* const call = graph.create(c10::prim::CallMethod, {node->input(0)});
    for (size_t i = 0; i < nones; ++i)
      call->addInput(graph.insertConstant(c10::IValue()));
    call->s_(c10::attr::name, name);
    call->output()->setType(method->getSchema().returns().at(0).type());
    call->copyMetadata(node);
    graph.insertNode(call);
    if (!node->outputs().empty())
      node->output()->replaceAllUsesWith(call->output());
    node->destroy();
    VisitFunction(method);
  }

  std::set<const Function*> seen_;
};

}  // namespace

void CallContextMethods(const torch::jit::Module& module) {
  Contexts contexts;
  VisitModules(*module._ivalue(), [&](c10::ivalue::Object& inner) {
    for (Function* const method : inner.type()->methods())
      contexts.VisitFunction(method);
  });
}

}  // namespace aitune::frontend
