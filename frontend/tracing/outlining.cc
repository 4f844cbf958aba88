#include "frontend/tracing/outlining.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/canonicalize.h>
#include <torch/csrc/jit/passes/remove_mutation.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "frontend/torchscript/carried_writes.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/state_writes.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/tracing/outlined_groups.h"
#include "frontend/tracing/outlining_rules.h"
#include "frontend/tracing/simplified_forward.h"
#include "frontend/values/torch_util.h"
#include "runtime/logging/logging.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

// A group as a graph of its own.
class GroupGraph {
 public:
  GroupGraph(const OutlinedGroup& group, OutliningRules& rules)
      : rules_(rules) {
    for (Node* node : group.nodes) Append(node);
    for (Value* output : group.outputs)
      graph_->registerOutput(inner_.at(output));
  }

  const std::shared_ptr<Graph>& graph() const { return graph_; }
  // The values outside that are the graph's inputs, in their order.
  const std::vector<Value*>& inputs() const { return inputs_; }

 private:
  void Append(Node* node) {
    Node* const clone =
        graph_->createClone(node, [this](Value* value) { return Of(value); });
    graph_->appendNode(clone);
    for (size_t i = 0; i < node->outputs().size(); ++i)
      inner_[node->outputs()[i]] = clone->outputs()[i];
  }

  // The value in the graph for one outside: what is computed anew is.
  Value* Of(Value* value) {
    const auto found = inner_.find(value);
    if (found != inner_.end()) return found->second;
    if (rules_.IsComputedAnew(value->node())) {
      Append(value->node());
      return inner_.at(value);
    }
    Value* const input = graph_->addInput();
    input->setType(value->type());
    inputs_.push_back(value);
    return inner_[value] = input;
  }

  OutliningRules& rules_;
  const std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  std::vector<Value*> inputs_;
  std::unordered_map<Value*, Value*> inner_;
};

// The model of a program `body`: integers come as sizes, and constants are
// attributes.
Model ModelOf(Graph& body, const std::vector<OutlinedInput>& kinds,
              const std::vector<at::Tensor>& constants) {
  auto unit = std::make_shared<torch::jit::CompilationUnit>();
  torch::jit::Module module("__torch__.Outlined", unit);
  const std::shared_ptr<Graph> graph = body.copy();
  Value* const self = graph->insertInput(0, "self");
  self->setType(module._ivalue()->type());
  const torch::jit::WithInsertPoint before(*graph->nodes().begin());
  size_t next_constant = 0;
  for (size_t i = 0, place = 1; i < kinds.size(); ++i) {
    Value* const input = graph->inputs()[place];
    if (kinds[i] == OutlinedInput::kTensor) {
      input->setDebugName(absl::StrCat("input_", i));
      ++place;
      continue;
    }
    if (kinds[i] == OutlinedInput::kConstant) {
      const std::string name = absl::StrCat("constant_", i);
      module.register_buffer(name, constants[next_constant++]);
      input->replaceAllUsesWith(graph->insertGetAttr(self, name));
      graph->eraseInput(place);
      continue;
    }
    Value* const as_size =
        graph->insertInput(place, absl::StrCat("integer_", i));
    as_size->setType(c10::TensorType::get());
    Value* const size = graph->insert(c10::aten::size, {as_size, int64_t{0}});
    input->replaceAllUsesWith(
        graph->insert(c10::aten::sub, {size, int64_t{1}}));
    graph->eraseInput(place + 1);
    ++place;
  }
  if (graph->outputs().size() > 1) {
    const std::vector<Value*> outputs = graph->outputs().vec();
    Node* const tuple = graph->createTuple(outputs);
    graph->appendNode(tuple);
    while (!graph->outputs().empty()) graph->eraseOutput(0);
    graph->registerOutput(tuple->output());
  }
  module.type()->addMethod(unit->create_function(
      c10::QualifiedName(*module.type()->name(), "forward"), graph));
  absl::StatusOr<Model> model = Model::FromModule(std::move(module));
  TORCH_CHECK(model.ok(), std::string(model.status().message()));
  return *std::move(model);
}

// The text of `body` without places in files.
std::string TextOf(Graph& body, const std::vector<OutlinedInput>& kinds,
                   const std::vector<at::Tensor>& constants) {
  std::string text =
      torch::jit::Canonicalize(body.copy(), /*keep_unique_names=*/false)
          ->toString(/*print_source_locations=*/false);
  for (const OutlinedInput kind : kinds)
    absl::StrAppend(&text, static_cast<int>(kind));
  for (const at::Tensor& constant : constants)
    absl::StrAppend(&text, "\n", constant.toString(), " ",
                    c10::str(constant.sizes()));
  return text;
}

class Outliner {
 public:
  // `whole`: with what is outside of control flow. `stays`: whether a constant
  // of the graph has the same elements in each call, or who looks at its
  // version sees that it has not.
  Outliner(std::unordered_map<Value*, at::Tensor> constants, bool whole,
           std::function<bool(const at::Tensor&)> stays)
      : constants_(std::move(constants)),
        whole_(whole),
        stays_(std::move(stays)) {}

  std::vector<std::shared_ptr<OutlinedProgram>> Run(Graph& graph) {
    // Before anything is outlined. Of tensors that are written, reshape gives
    // views or copies, by their strides.
    auto nodes = graph.block()->nodes();
    strides_matter_ = NeedsViews(graph.block()) ||
                      std::any_of(nodes.begin(), nodes.end(), MayWriteElements);
    Visit(graph.block());
    return std::move(programs_);
  }

 private:
  void Visit(Block* block) {
    const std::vector<Node*> nodes(block->nodes().begin(),
                                   block->nodes().end());
    for (Node* node : nodes) {
      if (rules_.CanBeOutlined(node)) continue;
      for (Block* inner : node->blocks()) Visit(inner);
    }
    if (block->owningNode() == nullptr && !whole_) return;
    for (const OutlinedGroup& group :
         FormGroups(block, rules_, strides_matter_))
      Outline(group);
    RemoveUnread(block);
  }

  std::optional<at::Tensor> ConstantOf(Value* value) const {
    const auto known = constants_.find(value);
    if (known != constants_.end()) return known->second;
    const auto constant = torch::jit::toIValue(value);
    if (!constant || !constant->isTensor() || !stays_(constant->toTensor()))
      return std::nullopt;
    return constant->toTensor();
  }

  void Outline(const OutlinedGroup& group) {
    const GroupGraph made(group, rules_);
    std::vector<OutlinedInput> kinds;
    std::vector<at::Tensor> constants;
    for (Value* input : made.inputs()) {
      if (const std::optional<at::Tensor> constant = ConstantOf(input)) {
        kinds.push_back(OutlinedInput::kConstant);
        constants.push_back(*constant);
      } else {
        kinds.push_back(input->type()->kind() == c10::TypeKind::IntType
                            ? OutlinedInput::kInteger
                            : OutlinedInput::kTensor);
      }
    }
    // Nothing to compile for.
    if (std::all_of(kinds.begin(), kinds.end(), [](OutlinedInput kind) {
          return kind == OutlinedInput::kConstant;
        }))
      return;
    Node* const first = group.nodes[0];
    auto program = std::make_shared<OutlinedProgram>(
        LocationOf(*first), TextOf(*made.graph(), kinds, constants),
        ModelOf(*made.graph(), kinds, constants), kinds, constants,
        strides_matter_, group.operators);
    const torch::jit::WithInsertPoint before(first);
    Node* const node = InsertOutlined(*first->owningGraph(), program,
                                      made.graph(), made.inputs());
    node->setSourceRange(first->sourceRange());
    for (size_t i = 0; i < group.outputs.size(); ++i) {
      node->outputs()[i]->setType(group.outputs[i]->type());
      group.outputs[i]->replaceAllUsesWith(node->outputs()[i]);
    }
    outlined_.insert(group.nodes.begin(), group.nodes.end());
    programs_.push_back(std::move(program));
  }

  // Removes what was outlined, and what only that reads.
  void RemoveUnread(Block* block) {
    std::vector<Node*> unread;
    for (Node* node : block->nodes()) {
      if (outlined_.count(node) > 0 || rules_.IsComputedAnew(node))
        unread.push_back(node);
    }
    for (Node* node : unread) {
      if (outlined_.erase(node) == 0) continue;
      while (!node->blocks().empty()) node->eraseBlock(0);
      node->removeAllInputs();
    }
    for (size_t before = SIZE_MAX; before != unread.size();) {
      before = unread.size();
      unread.erase(std::remove_if(unread.begin(), unread.end(),
                                  [this](Node* node) {
                                    if (node->hasUses()) return false;
                                    rules_.Forget(node);
                                    node->destroy();
                                    return true;
                                  }),
                   unread.end());
    }
  }

  const std::unordered_map<Value*, at::Tensor> constants_;
  const bool whole_;
  const std::function<bool(const at::Tensor&)> stays_;
  bool strides_matter_ = false;  // OutlinedProgram
  OutliningRules rules_;
  std::unordered_set<Node*> outlined_;  // nodes that are not removed yet
  std::vector<std::shared_ptr<OutlinedProgram>> programs_;
};

bool GivesOwnTensors(const Node* node) {
  return node->kind().is_aten() && node->maybeSchema() != nullptr &&
         node->blocks().empty() && !MayGiveView(node);
}

// Whether an operator that writes may be the one that doesn't. LibTorch takes
// the results of some operators for tensors of their own though they may be the
// arguments: there must be none of them around what is written.
bool MayBeFunctional(Node* node) {
  if (node->inputs().empty()) return false;
  const Value* const written = node->input(0);
  const auto& uses = written->uses();
  return GivesOwnTensors(written->node()) &&
         std::all_of(uses.begin(), uses.end(), [&](const torch::jit::Use& use) {
           return use.user == node || GivesOwnTensors(use.user);
         });
}

// What `outline` makes of a copy of `graph`; `graph` itself where LibTorch
// can't make graphs or models of parts of it.
OutlinedGraph Outline(
    const std::shared_ptr<Graph>& graph,
    absl::FunctionRef<std::vector<std::shared_ptr<OutlinedProgram>>(Graph&)>
        outline) {
  OutlinedGraph result{graph, {}};
  if (AsksForMemory(graph->block())) return result;
  const absl::Status status =
      CatchExceptions(absl::StatusCode::kInternal, "outlining", [&] {
        const std::shared_ptr<Graph> copy = graph->copy();
        MarkCarriedWrites(copy);
        torch::jit::RemoveTensorMutation(copy, MayBeFunctional);
        auto programs = outline(*copy);
        copy->lint();
        if (!programs.empty()) result = {copy, std::move(programs)};
        return absl::OkStatus();
      });
  if (!status.ok())
    Log(LogChannel::kGraphBreaks, std::string(status.message()));
  return result;
}

}  // namespace

OutlinedGraph OutlineBlocks(const std::shared_ptr<Graph>& graph,
                            const std::map<size_t, at::Tensor>& constants) {
  return Outline(graph, [&](Graph& copy) {
    std::unordered_map<Value*, at::Tensor> known;
    for (const auto& [input, tensor] : constants)
      known.emplace(copy.inputs()[input], tensor);
    return Outliner(std::move(known), /*whole=*/false,
                    [](const at::Tensor&) { return true; })
        .Run(copy);
  });
}

OutlinedGraph OutlineForward(const std::shared_ptr<Graph>& graph,
                             const torch::jit::Module& module, bool for_gpu) {
  return Outline(graph, [&](Graph& copy) {
    const StateWrites writes(module);
    // A GPU's calls write copies, whose versions nobody looks at.
    const bool may_be_written =
        for_gpu && (writes.MayWriteAny() || !writes.constants().empty());
    FoldFixedAttributes(copy, module, writes);
    return Outliner(may_be_written ? std::unordered_map<Value*, at::Tensor>()
                                   : FixedTensors(copy, module, writes),
                    /*whole=*/true,
                    [&](const at::Tensor& tensor) {
                      return !may_be_written && !tensor.is_inference();
                    })
        .Run(copy);
  });
}

}  // namespace aitune::frontend
