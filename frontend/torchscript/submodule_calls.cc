#include "frontend/torchscript/submodule_calls.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

c10::Symbol PathAttribute() {
  static const c10::Symbol symbol = c10::Symbol::attr("aitune_submodule");
  return symbol;
}

// The path of a module that is read, attribute by attribute, from `root`.
std::string PathOf(const Value* module, const Value* root) {
  if (module == root) return "";
  const Node* node = module->node();
  if (node->kind() != c10::prim::GetAttr) return "?";
  const std::string parent = PathOf(node->input(0), root);
  const std::string& name = node->s(c10::attr::name);
  return parent.empty() ? name : absl::StrCat(parent, ".", name);
}

void Mark(Node* node, const std::string& path) {
  if (!path.empty() && node->kind() != c10::prim::Constant)
    node->s_(PathAttribute(), path);
  for (Block* block : node->blocks()) {
    for (Node* inner : block->nodes()) Mark(inner, path);
  }
}

void InlineBlock(Block* block, const Value* root) {
  for (Node* node = *block->nodes().begin(); node != block->return_node();) {
    for (Block* inner : node->blocks()) InlineBlock(inner, root);
    const bool is_method = node->kind() == c10::prim::CallMethod;
    torch::jit::GraphFunction* callee =
        is_method || node->kind() == c10::prim::CallFunction
            ? torch::jit::tryToGraphFunction(node)
            : nullptr;
    if (callee == nullptr) {
      node = node->next();
      continue;
    }
    const std::string path =
        is_method ? PathOf(node->input(0), root) : SubmoduleOf(*node);
    // What a function's value was.
    if (!is_method) node->removeInput(0);
    Node* const before = node->prev();
    Node* const after = node->next();
    torch::jit::inlineCallTo(node, callee);
    for (Node* made = before->next(); made != after; made = made->next())
      Mark(made, path);
    // The calls inside are next.
    node = before->next();
  }
}

}  // namespace

void InlineSubmodules(torch::jit::Graph& graph) {
  if (!graph.inputs().empty()) InlineBlock(graph.block(), graph.inputs()[0]);
}

std::string SubmoduleOf(const Node& node) {
  return node.hasAttribute(PathAttribute()) ? node.s(PathAttribute()) : "";
}

bool IsWithin(const std::string& path, const std::string& ancestor) {
  return path == ancestor ||
         absl::StartsWith(path, absl::StrCat(ancestor, "."));
}

}  // namespace aitune::frontend
