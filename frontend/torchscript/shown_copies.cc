#include "frontend/torchscript/shown_copies.h"

#include <torch/csrc/jit/ir/alias_analysis.h>

#include <algorithm>
#include <set>
#include <string>
#include <unordered_set>

#include "frontend/torchscript/written_arguments.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Use;
using torch::jit::Value;

bool MayCopy(const Node& node) {
  static const auto* const names = new std::set<std::string>{
      "aten::contiguous", "aten::flatten",    "aten::ravel",
      "aten::reshape",    "aten::reshape_as", "aten::to"};
  return names->count(node.kind().toQualString()) > 0;
}

bool IsInLoop(const Node* node) {
  for (; node != nullptr; node = node->owningBlock()->owningNode()) {
    if (node->kind() == c10::prim::Loop) return true;
  }
  return false;
}

class Search {
 public:
  explicit Search(const std::shared_ptr<Graph>& graph) : aliases_(graph) {
    for (Value* input : graph->inputs().slice(1))  // without the model
      arguments_.insert(input);
    Collect(*graph->block());
  }

  std::vector<const Node*> Run() {
    std::vector<const Node*> found;
    for (Node* copy : copies_) {
      if (IsShown(copy)) found.push_back(copy);
    }
    return found;
  }

 private:
  void Collect(Block& block) {
    for (Value* input : block.inputs()) {
      if (block.owningNode() != nullptr || arguments_.count(input) > 0)
        values_.push_back(input);
    }
    for (Node* node : block.nodes()) {
      for (Value* output : node->outputs()) values_.push_back(output);
      if (MayCopy(*node) && node->outputs().size() == 1)
        copies_.push_back(node);
      if (!WrittenTensors(*node).empty()) writers_.push_back(node);
      for (Block* inner : node->blocks()) Collect(*inner);
    }
  }

  // `value` and what is made of it that may have its memory.
  void AddDerived(Value* value, std::unordered_set<const Value*>& derived) {
    if (!derived.insert(value).second) return;
    for (const Use& use : value->uses()) {
      for (Value* output : use.user->outputs()) {
        if (aliases_.mayContainAlias(output, value))
          AddDerived(output, derived);
      }
      for (Block* inner : use.user->blocks()) {
        for (Value* input : inner->inputs()) {
          if (aliases_.mayContainAlias(input, value))
            AddDerived(input, derived);
        }
      }
    }
  }

  // Whether what `value` has in its memory is read after `writer`.
  bool IsReadAfter(const Value* value, const Node* writer) const {
    // By the caller.
    if (arguments_.count(value) > 0) return true;
    return std::any_of(
        value->uses().begin(), value->uses().end(), [&](const Use& use) {
          return use.user != writer &&
                 (!use.user->isBefore(writer) || IsInLoop(use.user));
        });
  }

  bool IsShown(Node* copy) {
    if (!aliases_.hasWriters(copy->output())) return false;
    std::unordered_set<const Value*> derived;
    AddDerived(copy->output(), derived);
    const auto shows = [&](Node* writer) {
      if (writer->isBefore(copy) && !IsInLoop(copy)) return false;
      const std::vector<const Value*> written = WrittenTensors(*writer);
      return std::any_of(
          written.begin(), written.end(), [&](const Value* target) {
            auto* const value = const_cast<Value*>(target);
            if (!aliases_.mayAlias(value, copy->output())) return false;
            const bool is_derived = derived.count(target) > 0;
            // The other of the two, which has the write if they are one.
            return std::any_of(
                values_.begin(), values_.end(), [&](Value* other) {
                  return (derived.count(other) > 0) != is_derived &&
                         aliases_.mayContainAlias(other, copy->output()) &&
                         IsReadAfter(other, writer);
                });
          });
    };
    return std::any_of(writers_.begin(), writers_.end(), shows);
  }

  torch::jit::AliasDb aliases_;
  std::unordered_set<const Value*> arguments_;
  std::vector<Value*> values_;
  std::vector<Node*> copies_, writers_;
};

}  // namespace

std::vector<const Node*> FindShownCopies(const std::shared_ptr<Graph>& graph) {
  return Search(graph).Run();
}

}  // namespace aitune::frontend
