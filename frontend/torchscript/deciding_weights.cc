#include "frontend/torchscript/deciding_weights.h"

#include <torch/csrc/jit/ir/ir.h>

#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/inline_calls.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/operator_tags.h"
#include "frontend/torchscript/written_arguments.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

// Whether the elements of the second argument decide a size: a mask picks rows,
// and what is cut has as many rows as lie between the places of the cuts.
bool DecidesBySecond(const Node& node) {
  return node.kind() == c10::aten::index ||
         (node.kind() == c10::aten::tensor_split &&
          node.input(1)->type()->isSubtypeOf(*c10::TensorType::get()));
}

// Whether what the operator gives, or its size, depends on elements of tensors
// that it reads as numbers.
bool Decides(const Node& node) {
  static const auto* const kOperators = new std::set<std::string>{
      "aten::Bool",        "aten::Int",           "aten::Float",
      "aten::Complex",     "aten::item",          "aten::ScalarImplicit",
      "aten::IntImplicit", "aten::FloatImplicit", "aten::is_nonzero",
      "aten::equal",       "aten::allclose",      "prim::tolist"};
  const std::string kind = node.kind().toQualString();
  // The places of what is not 0.
  if (kind == "aten::where") return node.inputs().size() == 1;
  if (DecidesBySecond(node)) return false;
  const c10::FunctionSchema* const schema = node.maybeSchema();
  return kOperators->count(kind) > 0 ||
         (schema != nullptr && HasSizesOfData(*schema));
}

// Whether its first result is a view of its first argument.
bool IsView(const Node& node) {
  const c10::FunctionSchema* schema = node.maybeSchema();
  if (schema == nullptr || schema->arguments().empty() ||
      schema->returns().empty() || node.inputs().empty())
    return false;
  const c10::AliasInfo* of = schema->arguments()[0].alias_info();
  return of != nullptr && !of->isWrite() &&
         schema->returns()[0].alias_info() != nullptr;
}

// What a value is made of.
struct Origin {
  std::set<std::string> weights;
  bool from_input = false;

  // Whether it changes by that.
  bool Add(const Origin& other) {
    const size_t before = weights.size() + from_input;
    weights.insert(other.weights.begin(), other.weights.end());
    from_input |= other.from_input;
    return weights.size() + from_input > before;
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
    if (RunsUnknownProgram(node)) made.from_input = true;
    if (Decides(node)) AddDeciding(made);
    if (DecidesBySecond(node)) AddDeciding(origins_[node.input(1)]);
    AddToWritten(node, made);
    for (const Value* output : node.outputs()) origins_[output] = made;
    if (node.kind() == c10::prim::Loop) return VisitLoop(node);
    for (Block* block : node.blocks()) {
      Visit(*block);
      for (size_t i = 0; i < block->outputs().size(); ++i)
        origins_[node.outputs()[i]].Add(origins_[block->outputs()[i]]);
    }
  }

  // Twice, for what a round writes, and until what rounds hand on stays as it
  // is.
  void VisitLoop(Node& loop) {
    Block& body = *loop.blocks()[0];
    for (size_t i = 0; i < loop.outputs().size(); ++i) {
      origins_[body.inputs()[i + 1]] = origins_[loop.inputs()[i + 2]];
      origins_[loop.outputs()[i]] = origins_[loop.inputs()[i + 2]];
    }
    bool changes = true;
    for (int round = 0; round < 2 || changes; ++round) {
      Visit(body);
      changes = false;
      for (size_t i = 0; i < loop.outputs().size(); ++i) {
        const Origin given = origins_[body.outputs()[i + 1]];
        changes |= origins_[body.inputs()[i + 1]].Add(given);
        origins_[loop.outputs()[i]].Add(given);
      }
    }
  }

  void AddDeciding(const Origin& origin) {
    if (!origin.from_input)
      deciding_.insert(origin.weights.begin(), origin.weights.end());
  }

  // What a call writes is made of what it reads, and so is what it is a view
  // of.
  void AddToWritten(const Node& node, const Origin& made) {
    for (const size_t place : WrittenArguments(node)) {
      const Value* written = node.input(place);
      origins_[written].Add(made);
      while (IsView(*written->node())) {
        written = written->node()->input(0);
        origins_[written].Add(made);
      }
    }
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
  InlineCalls(*graph);
  return Walk(*graph).deciding();
}

}  // namespace aitune::frontend
