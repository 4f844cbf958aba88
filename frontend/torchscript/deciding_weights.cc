#include "frontend/torchscript/deciding_weights.h"

#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/model_internal.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

// Whether what the operator gives, or its size, depends on elements of tensors
// that it reads as numbers.
bool Decides(const Node& node) {
  static const auto* const kOperators = new std::set<std::string>{
      "aten::Bool",          "aten::Int",
      "aten::Float",         "aten::Complex",
      "aten::item",          "aten::ScalarImplicit",
      "aten::IntImplicit",   "aten::FloatImplicit",
      "aten::is_nonzero",    "aten::equal",
      "aten::allclose",      "aten::tolist",
      "prim::tolist",        "aten::nonzero",
      "aten::nonzero_numpy", "aten::argwhere",
      "aten::masked_select", "aten::unique_consecutive",
      "aten::_unique2",      "aten::unique_dim",
      "aten::bincount",      "aten::repeat_interleave"};
  return kOperators->count(node.kind().toQualString()) > 0;
}

// What a value is made of.
struct Origin {
  std::set<std::string> weights;
  bool from_input = false;

  void Add(const Origin& other) {
    weights.insert(other.weights.begin(), other.weights.end());
    from_input |= other.from_input;
  }
};

class Walk {
 public:
  explicit Walk(torch::jit::Graph& graph) {
    for (size_t i = 1; i < graph.inputs().size(); ++i)
      origins_[graph.inputs()[i]].from_input = true;
    paths_[graph.inputs()[0]] = "";
    Visit(*graph.block());
  }

  const std::set<std::string>& deciding() const { return deciding_; }

 private:
  void Visit(Block& block) {
    for (Node* node : block.nodes()) Visit(*node);
  }

  void Visit(Node& node) {
    if (node.kind() == c10::prim::GetAttr) return VisitAttribute(node);
    Origin made;
    for (const Value* input : node.inputs()) made.Add(origins_[input]);
    if (node.kind() == c10::prim::CallMethod ||
        node.kind() == c10::prim::CallFunction)
      made.from_input = true;
    if (Decides(node) && !made.from_input)
      deciding_.insert(made.weights.begin(), made.weights.end());
    // What a loop carries is made of what the round before gave.
    const int rounds = node.kind() == c10::prim::Loop ? 2 : 1;
    for (int round = 0; round < rounds; ++round) {
      for (Block* block : node.blocks()) {
        for (const Value* parameter : block->inputs())
          origins_[parameter] = made;
        Visit(*block);
        for (const Value* given : block->outputs()) made.Add(origins_[given]);
      }
    }
    for (const Value* output : node.outputs()) origins_[output] = made;
  }

  void VisitAttribute(const Node& node) {
    const auto object = paths_.find(node.input());
    if (object == paths_.end()) return;
    const std::string name = node.s(c10::attr::name);
    const std::string path =
        object->second.empty() ? name : absl::StrCat(object->second, ".", name);
    if (node.output()->type()->cast<c10::ClassType>())
      paths_[node.output()] = path;
    else
      origins_[node.output()].weights = {path};
  }

  std::unordered_map<const Value*, Origin> origins_;
  std::unordered_map<const Value*, std::string> paths_;  // of modules
  std::set<std::string> deciding_;
};

}  // namespace

std::set<std::string> DecidingWeights(const Model& model) {
  const auto graph =
      model.impl().bare_module.get_method("forward").graph()->copy();
  torch::jit::Inline(*graph);
  return Walk(*graph).deciding();
}

}  // namespace aitune::frontend
