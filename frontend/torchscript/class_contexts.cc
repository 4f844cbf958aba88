#include "frontend/torchscript/class_contexts.h"

#include <torch/csrc/jit/ir/ir.h>

#include "absl/strings/match.h"
#include "frontend/torchscript/called_functions.h"

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

// The type, value and traceback of an exception: None where there is none.
constexpr size_t kOfException = 3;

void Call(Node* node, const char* name, size_t nones) {
  const Function* const method = MethodOf(*node->input(0), name);
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
}

void CallMethods(Block& block) {
  for (auto place = block.nodes().begin(); place != block.nodes().end();) {
    Node* const node = *place++;
    for (Block* inner : node->blocks()) CallMethods(*inner);
    if (node->kind() == c10::prim::Enter)
      Call(node, "__enter__", 0);
    else if (node->kind() == c10::prim::Exit)
      Call(node, "__exit__", kOfException);
  }
}

}  // namespace

void CallContextMethods(const torch::jit::Module& module) {
  VisitFunctions(module, CallMethods);
}

}  // namespace aitune::frontend
