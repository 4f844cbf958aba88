#include "frontend/torchscript/module_flags.h"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/constant_propagation.h>

#include <string>
#include <unordered_set>
#include <vector>

#include "frontend/torchscript/any_node.h"
#include "frontend/torchscript/hidden_writes.h"

namespace aitune::frontend {

std::optional<c10::IValue> AttributeValue(const torch::jit::Value* value,
                                          const c10::IValue& self) {
  const torch::jit::Node& node = *value->node();
  if (value == node.owningGraph()->inputs()[0]) return self;
  if (node.kind() != c10::prim::GetAttr) return std::nullopt;
  const std::optional<c10::IValue> object = AttributeValue(node.input(), self);
  if (!object || !object->isObject()) return std::nullopt;
  const c10::ivalue::Object& holder = object->toObjectRef();
  const std::string& name = node.s(c10::attr::name);
  if (!holder.type()->findAttributeSlot(name)) return std::nullopt;
  return holder.getAttr(name);
}

void FoldFlags(std::shared_ptr<torch::jit::Graph>& graph,
               const c10::IValue& self) {
  std::vector<torch::jit::Node*> flags;
  std::unordered_set<std::string> set;
  bool hides = false;
  AnyNode(graph->block(), [&](torch::jit::Node* node) {
    if (node->kind() == c10::prim::GetAttr &&
        node->output()->type()->kind() == c10::TypeKind::BoolType)
      flags.push_back(node);
    if (node->kind() == c10::prim::SetAttr)
      set.insert(node->s(c10::attr::name));
    const c10::FunctionSchema* schema = node->maybeSchema();
    hides = hides ||
            (schema != nullptr && !HiddenWritesOf(*schema).arguments.empty());
    return false;
  });
  if (!hides) return;
  for (torch::jit::Node* flag : flags) {
    const std::optional<c10::IValue> value =
        AttributeValue(flag->output(), self);
    if (!value || !value->isBool() || set.count(flag->s(c10::attr::name)) > 0)
      continue;
    const torch::jit::WithInsertPoint before(flag);
    flag->output()->replaceAllUsesWith(graph->insertConstant(*value));
  }
  torch::jit::ConstantPropagation(graph);
}

}  // namespace aitune::frontend
