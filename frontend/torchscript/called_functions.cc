#include "frontend/torchscript/called_functions.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <set>

#include "frontend/torchscript/module_objects.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::GraphFunction;
using torch::jit::Node;

class Functions {
 public:
  explicit Functions(absl::FunctionRef<void(Block&)> visit) : visit_(visit) {}

  void Visit(GraphFunction* function) {
    if (function == nullptr || !seen_.insert(function).second) return;
    function->ensure_defined();
    Block& block = *function->graph()->block();
    visit_(block);
    VisitCalled(block);
  }

 private:
  void VisitCalled(Block& block) {
    for (Node* node : block.nodes()) {
      for (Block* inner : node->blocks()) VisitCalled(*inner);
      if (node->kind() == c10::prim::CallFunction ||
          node->kind() == c10::prim::CallMethod)
        Visit(torch::jit::tryToGraphFunction(node));
    }
  }

  const absl::FunctionRef<void(Block&)> visit_;
  std::set<const GraphFunction*> seen_;
};

}  // namespace

void VisitFunctions(const torch::jit::Module& module,
                    absl::FunctionRef<void(Block& block)> visit) {
  Functions functions(visit);
  VisitModules(*module._ivalue(), [&](c10::ivalue::Object& inner) {
    for (torch::jit::Function* const method : inner.type()->methods())
      functions.Visit(torch::jit::tryToGraphFunction(*method));
  });
}

}  // namespace aitune::frontend
