#include "frontend/torchscript/submodule_calls.h"

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/frontend/ir_emitter.h>
#include <torch/csrc/jit/frontend/parser.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/sugared_value.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <sstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/torchscript/code_check.h"
#include "runtime/status/status_macros.h"

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

using Substitutes = std::map<std::string, torch::jit::GraphFunction*>;

void InlineBlock(Block* block, const Value* root,
                 const Substitutes& substitutes, std::set<std::string>& used) {
  for (Node* node = *block->nodes().begin(); node != block->return_node();) {
    for (Block* inner : node->blocks())
      InlineBlock(inner, root, substitutes, used);
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
    if (const auto found = substitutes.find(path);
        is_method && found != substitutes.end() &&
        node->s(c10::attr::name) == "forward") {
      callee = found->second;
      used.insert(path);
    }
    // What a function's value was.
    if (!is_method) node->removeInput(0);
    Node* const before = node->prev();
    Node* const after = node->next();
    torch::jit::inlineCallTo(node, callee, callee->graph().get());
    for (Node* made = before->next(); made != after; made = made->next())
      Mark(made, path);
    // The calls inside are next.
    node = before->next();
  }
}

}  // namespace

void InlineSubmodules(torch::jit::Graph& graph, Substitutes* substitutes) {
  std::set<std::string> used;
  if (!graph.inputs().empty())
    InlineBlock(graph.block(), graph.inputs()[0],
                substitutes == nullptr ? Substitutes() : *substitutes, used);
  for (const std::string& path : used) substitutes->erase(path);
}

absl::StatusOr<torch::jit::GraphFunction*> DefineSubstitute(
    torch::jit::Module submodule, const std::string& source) {
  AITUNE_RETURN_IF_ERROR(CheckCode("it", source));
  torch::jit::Parser parser(std::make_shared<torch::jit::Source>(source));
  const torch::jit::Def method(parser.parseFunction(/*is_method=*/true));
  if (parser.lexer().cur().kind != torch::jit::TK_EOF)
    return absl::InvalidArgumentError("it goes on after the method");
  const c10::ClassTypePtr type = submodule.type();
  const c10::FunctionSchema& forward = type->getMethod("forward").getSchema();
  std::string name = "aitune_substitute";
  while (type->findMethod(name) != nullptr) name += "_";
  const torch::jit::SimpleSelf self(type);
  type->compilation_unit()->define(
      type->name(), /*properties=*/{}, /*propResolvers=*/{},
      {method.withName(name)}, {torch::jit::nativeResolver()}, &self);
  torch::jit::Function& made = type->getMethod(name);
  made.ensure_defined();
  const c10::FunctionSchema& schema = made.getSchema();
  bool fits =
      schema.arguments().size() == forward.arguments().size() &&
      schema.returns()[0].type()->isSubtypeOf(*forward.returns()[0].type());
  for (size_t i = 1; fits && i < schema.arguments().size(); ++i)
    fits = forward.arguments()[i].type()->isSubtypeOf(
        *schema.arguments()[i].type());
  if (!fits) {
    std::ostringstream text;
    text << "it is " << schema << ", forward is " << forward;
    return absl::InvalidArgumentError(text.str());
  }
  return &torch::jit::toGraphFunction(made);
}

std::string SubmoduleOf(const Node& node) {
  return node.hasAttribute(PathAttribute()) ? node.s(PathAttribute()) : "";
}

bool IsWithin(const std::string& path, const std::string& ancestor) {
  return path == ancestor ||
         absl::StartsWith(path, absl::StrCat(ancestor, "."));
}

}  // namespace aitune::frontend
