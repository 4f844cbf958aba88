#include "frontend/torchscript/gradients.h"

#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/api/function_impl.h>

#include <algorithm>
#include <set>

#include "frontend/values/pytree.h"

namespace aitune::frontend {
namespace {

using Functions = std::set<const torch::jit::Function*>;

bool TakesGradients(torch::jit::Function* function, Functions& seen);

bool TakesGradients(const torch::jit::Block& block, Functions& seen) {
  static const auto* const kGradients =
      new std::set<c10::Symbol>{c10::Symbol::fromQualString("aten::grad"),
                                c10::Symbol::fromQualString("aten::backward"),
                                c10::Symbol::fromQualString("aten::_backward")};
  const auto takes = [&](const torch::jit::Node* node) {
    if (kGradients->count(node->kind()) > 0) return true;
    if (node->hasAttribute(c10::attr::Subgraph) &&
        TakesGradients(*node->g(c10::attr::Subgraph)->block(), seen))
      return true;
    if (node->kind() == c10::prim::CallFunction) {
      const auto type = node->input(0)->type()->cast<c10::FunctionType>();
      if (type != nullptr && TakesGradients(type->function(), seen))
        return true;
    } else if (node->kind() == c10::prim::CallMethod) {
      const auto type = node->input(0)->type()->cast<c10::ClassType>();
      if (type != nullptr &&
          TakesGradients(type->findMethod(node->s(c10::attr::name)), seen))
        return true;
    }
    return std::any_of(node->blocks().begin(), node->blocks().end(),
                       [&](const torch::jit::Block* inner) {
                         return TakesGradients(*inner, seen);
                       });
  };
  return std::any_of(block.nodes().begin(), block.nodes().end(), takes);
}

bool TakesGradients(torch::jit::Function* function, Functions& seen) {
  if (function == nullptr || !function->isGraphFunction() ||
      !seen.insert(function).second)
    return false;
  function->ensure_defined();
  return TakesGradients(
      *torch::jit::toGraphFunction(*function).graph()->block(), seen);
}

// Another tensor in the memory of `tensor`, for LibTorch to record.
at::Tensor Recordable(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.layout() != at::kStrided) return tensor;
  if (!tensor.is_inference()) return tensor.detach();
  return at::from_blob(
      tensor.data_ptr(), tensor.sizes(), tensor.strides(), [tensor](void*) {},
      tensor.options(), tensor.device());
}

}  // namespace

bool TakesGradients(const torch::jit::Graph& graph) {
  Functions seen;
  return TakesGradients(*graph.block(), seen);
}

bool TakesGradients(const torch::jit::Module& module) {
  return TakesGradients(*module.get_method("forward").graph());
}

void RunInMode(bool gradients, torch::jit::Stack& stack,
               const std::function<void(torch::jit::Stack&)>& run) {
  const c10::InferenceMode inference(!gradients);
  if (!gradients) return run(stack);
  for (c10::IValue& argument : stack) {
    if (TensorLeaves(argument).empty()) continue;
    argument = MapTensors(argument, [](const at::Tensor& tensor, int) {
      return Recordable(tensor);
    });
  }
  run(stack);
  for (c10::IValue& result : stack) {
    result = MapTensors(
        result, [](const at::Tensor& tensor, int) { return tensor.detach(); });
  }
}

}  // namespace aitune::frontend
