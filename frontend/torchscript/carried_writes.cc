#include "frontend/torchscript/carried_writes.h"

#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "frontend/torchscript/any_node.h"
#include "frontend/torchscript/copy_modules.h"
#include "frontend/torchscript/inline_calls.h"
#include "frontend/torchscript/submodule_calls.h"
#include "frontend/torchscript/written_arguments.h"

namespace aitune::frontend {
namespace {

using torch::jit::AliasDb;
using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

c10::Symbol MarkKind() {
  static const c10::Symbol symbol =
      c10::Symbol::fromQualString("aitune::next_iteration_writes");
  return symbol;
}

void RegisterMark() {
  static const auto* const registered =
      new torch::jit::RegisterOperators({torch::jit::Operator(
          "aitune::next_iteration_writes(t(a!) value) -> ()",
          [](torch::jit::Stack& stack) { torch::jit::drop(stack, 1); },
          c10::AliasAnalysisKind::FROM_SCHEMA)});
  (void)registered;
}

bool IsMutable(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
    case c10::TypeKind::ListType:
    case c10::TypeKind::DictType:
    case c10::TypeKind::ClassType:
    case c10::TypeKind::AnyType:
      return true;
    case c10::TypeKind::TupleType:
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::UnionType:
      return std::any_of(
          type.containedTypes().begin(), type.containedTypes().end(),
          [](const c10::TypePtr& part) { return IsMutable(*part); });
    default:
      return false;
  }
}

// What an operator writes to.
struct Written {
  Value* value;
  bool only_container;  // and not the tensors in it
};

// Appends what operators in the block, at any depth, write to.
void CollectWritten(Block& block, std::vector<Written>& written) {
  for (Node* node : block.nodes()) {
    for (const size_t i : WrittenArguments(*node))
      written.push_back({node->inputs()[i], WritesOnlyContainer(*node)});
    for (Block* inner : node->blocks()) CollectWritten(*inner, written);
  }
}

class Marker {
 public:
  explicit Marker(const std::shared_ptr<Graph>& graph) : graph_(graph) {}

  // Marks until a mark makes no other one necessary.
  bool Run() {
    for (size_t before = SIZE_MAX; before != seen_.size();) {
      before = seen_.size();
      AliasDb aliases(graph_);
      VisitBlock(graph_->block(), aliases);
    }
    return !seen_.empty();
  }

 private:
  void VisitBlock(Block* block, AliasDb& aliases) {
    const std::vector<Node*> nodes(block->nodes().begin(),
                                   block->nodes().end());
    for (Node* node : nodes) {
      for (Block* inner : node->blocks()) VisitBlock(inner, aliases);
      if (node->kind() == c10::prim::Loop)
        VisitLoop(node->blocks()[0], aliases);
    }
  }

  void VisitLoop(Block* body, AliasDb& aliases) {
    std::vector<Written> written;
    CollectWritten(*body, written);
    for (size_t i = 1; i < body->inputs().size(); ++i) {
      Value* const carried = body->inputs()[i];
      Value* const handed_on = body->outputs()[i];
      if (handed_on == carried || !IsMutable(*carried->type())) continue;
      const bool is_tensor =
          carried->type()->kind() == c10::TypeKind::TensorType;
      if (std::any_of(written.begin(), written.end(),
                      [&](const Written& write) {
                        return !(is_tensor && write.only_container) &&
                               (write.value == carried ||
                                aliases.mayContainAlias(write.value, carried));
                      }))
        Mark(handed_on);
    }
  }

  // Marks `value` and, where the program puts it together, its parts.
  void Mark(Value* value) {
    if (!IsMutable(*value->type()) || !seen_.insert(value).second) return;
    Node* const node = value->node();
    switch (node->kind()) {
      case c10::prim::If:
        for (Block* block : node->blocks())
          Mark(block->outputs()[value->offset()]);
        break;
      case c10::prim::Loop:
        Mark(node->blocks()[0]->outputs()[value->offset() + 1]);
        Mark(node->inputs()[value->offset() + 2]);
        break;
      case c10::prim::ListConstruct:
      case c10::prim::TupleConstruct:
      case c10::prim::DictConstruct:
        for (Value* part : node->inputs()) Mark(part);
        break;
      default:
        break;
    }
    // AliasDb takes a tuple for its parts.
    if (value->type()->kind() == c10::TypeKind::TupleType) return;
    Node* const mark = graph_->create(MarkKind(), {value}, /*num_outputs=*/0);
    mark->setSourceRange(node->sourceRange());
    if (node->kind() == c10::prim::Param)
      node->owningBlock()->prependNode(mark);
    else
      mark->insertAfter(node);
  }

  const std::shared_ptr<Graph> graph_;
  std::unordered_set<const Value*> seen_;
};

}  // namespace

bool MarkCarriedWrites(const std::shared_ptr<Graph>& graph) {
  const auto is_loop = [](Node* node) {
    return node->kind() == c10::prim::Loop;
  };
  if (!AnyNode(graph->block(), is_loop)) return false;
  RegisterMark();
  return Marker(graph).Run();
}

torch::jit::Module WithMarkedCarriedWrites(const torch::jit::Module& module) {
  const auto inlined = [](Graph& graph) {
    InlineSubmodules(graph);
    InlineCalls(graph);
  };
  const std::shared_ptr<Graph> tried =
      module.get_method("forward").graph()->copy();
  inlined(*tried);
  if (!MarkCarriedWrites(tried)) return module;
  torch::jit::Module marked = CloneProgram(module);
  const std::shared_ptr<Graph> graph = marked.get_method("forward").graph();
  inlined(*graph);
  MarkCarriedWrites(graph);
  return marked;
}

bool MarksCarriedWrite(const Node& node) { return node.kind() == MarkKind(); }

}  // namespace aitune::frontend
