#include "frontend/torchscript/forward_hooks.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include <memory>
#include <vector>

#include "frontend/torchscript/copy_modules.h"

namespace aitune::frontend {
namespace {

using torch::jit::Graph;
using torch::jit::Value;

// What a hook returns, given `arguments`: inserted at the graph's point.
Value* Insert(Graph& graph, torch::jit::Function* hook,
              const CopiedClasses& classes,
              const std::vector<Value*>& arguments) {
  hook->ensure_defined();
  const std::shared_ptr<Graph> body =
      torch::jit::toGraphFunction(*hook).graph()->copy();
  UseCopiedClasses(classes, *body);
  return torch::jit::insertGraph(graph, *body, arguments).at(0);
}

// LibTorch has checked the types that hooks take and return.
class Hooks {
 public:
  Hooks(Graph& graph, const CopiedClasses& classes)
      : graph_(graph),
        classes_(classes),
        self_(graph.inputs()[0]),
        arguments_(graph.inputs().begin() + 1, graph.inputs().end()) {}

  void InsertBefore(const std::vector<torch::jit::Function*>& hooks) {
    if (hooks.empty()) return;
    // What is behind the mark is the program.
    torch::jit::Node* const mark = graph_.createNone();
    mark->insertBefore(*graph_.nodes().begin());
    const torch::jit::WithInsertPoint point(mark);
    for (torch::jit::Function* const hook : hooks) {
      Value* const result =
          Insert(graph_, hook, classes_, {self_, Arguments()});
      if (result->type()->kind() == c10::TypeKind::NoneType) continue;
      if (result->type()->kind() != c10::TypeKind::TupleType) {
        arguments_ = {result};
        continue;
      }
      const at::ArrayRef<Value*> parts =
          graph_.insertNode(graph_.createTupleUnpack(result))->outputs();
      arguments_.assign(parts.begin(), parts.end());
    }
    for (size_t i = 0; i < arguments_.size(); ++i) {
      Value* const given = graph_.inputs()[i + 1];
      if (arguments_[i] == given) continue;
      const torch::jit::use_list uses = given->uses();
      for (const torch::jit::Use& use : uses) {
        if (mark->isBefore(use.user))
          use.user->replaceInput(use.offset, arguments_[i]);
      }
    }
    mark->destroy();
  }

  void InsertAfter(const std::vector<torch::jit::Function*>& hooks) {
    const torch::jit::WithInsertPoint point(graph_.return_node());
    for (torch::jit::Function* const hook : hooks) {
      Value* const result = Insert(graph_, hook, classes_,
                                   {self_, Arguments(), graph_.outputs()[0]});
      if (result->type()->kind() != c10::TypeKind::NoneType)
        graph_.return_node()->replaceInput(0, result);
    }
  }

 private:
  Value* Arguments() {
    return graph_.insertNode(graph_.createTuple(arguments_))->output();
  }

  Graph& graph_;
  const CopiedClasses& classes_;
  Value* const self_;
  std::vector<Value*> arguments_;  // of the program, after the hooks so far
};

}  // namespace

torch::jit::Module WithHooksInForward(const torch::jit::Module& module) {
  const c10::ClassTypePtr type = module.type();
  if (type->getForwardPreHooks().empty() && type->getForwardHooks().empty())
    return module;
  const torch::jit::Module merged = CloneProgram(module);
  const CopiedClasses classes = ClassesOfCopy(module, merged);
  torch::jit::Function& forward = merged.get_method("forward").function();
  Graph& graph = *torch::jit::toGraphFunction(forward).graph();
  Hooks hooks(graph, classes);
  hooks.InsertBefore(type->getForwardPreHooks());
  hooks.InsertAfter(type->getForwardHooks());
  forward.setSchema(forward.getSchema().cloneWithReturns(
      {c10::Argument("", graph.outputs()[0]->type())}));
  CopyCalledFunctions(merged, classes);
  return merged;
}

}  // namespace aitune::frontend
