#include "frontend/reduce/graph_edits.h"

#include <ATen/Functions.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/loop_unrolling.h>
#include <torch/csrc/jit/passes/remove_mutation.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "frontend/values/torch_util.h"

namespace aitune::reduce {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

// Loops that run more often stay loops: their unrolled text helps nobody.
constexpr int64_t kMostIterations = 64;

struct EditableNode {
  Node* node;
  int parent;  // number of the node that it is inside of; -1: none
};

void Collect(Block* block, int parent, std::vector<EditableNode>& nodes) {
  for (Node* node : block->nodes()) {
    if (node->kind() == c10::prim::Constant) continue;
    nodes.push_back({node, parent});
    const int number = static_cast<int>(nodes.size()) - 1;
    for (Block* inner : node->blocks()) Collect(inner, number, nodes);
  }
}

std::vector<EditableNode> EditableNodes(Graph& graph) {
  std::vector<EditableNode> nodes;
  Collect(graph.block(), -1, nodes);
  return nodes;
}

std::vector<Node*> TopNodes(Graph& graph) {
  std::vector<Node*> nodes;
  for (Node* node : graph.nodes()) {
    if (node->kind() != c10::prim::Constant) nodes.push_back(node);
  }
  return nodes;
}

// A copy of a program under change, with the recorded values of its graph's.
struct Draft {
  Program program;
  Recording recorded;

  explicit Draft(const Program& original, const Recording& recording = {})
      : program(original) {
    program.graph = original.graph->copy();
    const auto add = [&](const Value* from, const Value* to) {
      const auto found = recording.find(from);
      if (found != recording.end()) recorded[to] = found->second;
    };
    for (size_t i = 0; i < program.inputs.size(); ++i)
      add(original.graph->inputs()[i], program.graph->inputs()[i]);
    auto twin = program.graph->nodes().begin();
    for (const Node* node : original.graph->nodes()) {
      for (size_t i = 0; i < node->outputs().size(); ++i)
        add(node->outputs()[i], twin->outputs()[i]);
      ++twin;
    }
  }

  Graph& graph() { return *program.graph; }

  const c10::IValue* Of(const Value* value) const {
    const auto found = recorded.find(value);
    return found == recorded.end() ? nullptr : &found->second;
  }

  // Removes unused nodes and inputs, and returns the program.
  std::optional<Program> Finish() {
    std::optional<Program> finished;
    frontend::CatchExceptions(absl::StatusCode::kInternal, "", [&] {
      torch::jit::EliminateDeadCode(program.graph);
      for (size_t i = program.inputs.size(); i-- > 0;) {
        if (graph().inputs()[i]->hasUses()) continue;
        graph().eraseInput(i);
        program.inputs.erase(program.inputs.begin() + static_cast<int>(i));
        if (!program.specs.empty())
          program.specs.erase(program.specs.begin() + static_cast<int>(i));
      }
      graph().lint();
      finished = program;
      return absl::OkStatus();
    }).IgnoreError();  // not a program: no candidate
    return finished;
  }
};

bool IsTensor(const c10::IValue* value) {
  return value != nullptr && value->isTensor() && value->toTensor().defined();
}

bool IsTensorList(const c10::IValue& value) {
  if (!value.isList()) return false;
  const auto elements = value.toListRef();
  return !elements.empty() && std::all_of(elements.begin(), elements.end(),
                                          [](const c10::IValue& element) {
                                            return IsTensor(&element);
                                          });
}

bool SameSizes(const c10::IValue* a, const c10::IValue* b) {
  return IsTensor(a) && IsTensor(b) &&
         a->toTensor().scalar_type() == b->toTensor().scalar_type() &&
         a->toTensor().sizes() == b->toTensor().sizes();
}

// A value of `draft` that is `recorded`, made before `node`; null where there
// can be none.
Value* Materialize(Draft& draft, Node* node, const c10::IValue& recorded) {
  Graph& graph = draft.graph();
  if (recorded.isTensor()) {
    if (!recorded.toTensor().defined()) return nullptr;
    const c10::IValue tensor = recorded.toTensor().detach().clone();
    if (!draft.program.specs.empty()) {
      const auto spec =
          frontend::SpecsOf(frontend::ValueList(std::vector{tensor}));
      if (!spec.ok()) return nullptr;
      draft.program.specs.push_back(spec->front());
    }
    Value* input = graph.addInput();
    input->setType(c10::TensorType::get());
    draft.program.inputs.push_back(tensor);
    draft.recorded[input] = tensor;
    return input;
  }
  if (IsTensorList(recorded) || recorded.isTuple()) {
    std::vector<Value*> elements;
    const bool tuple = recorded.isTuple();
    for (const c10::IValue& element :
         tuple ? recorded.toTupleRef().elements().vec()
               : recorded.toListRef().vec()) {
      elements.push_back(Materialize(draft, node, element));
      if (elements.back() == nullptr) return nullptr;
    }
    Node* made = tuple ? graph.createTuple(elements)
                       : graph.createList(c10::TensorType::get(), elements);
    made->insertBefore(node);
    return made->output();
  }
  const torch::jit::WithInsertPoint guard(node);
  return torch::jit::tryInsertConstant(graph, recorded).value_or(nullptr);
}

Value* Operand(const Draft& draft, Node* node, const Value* output,
               bool inside) {
  for (Value* input : node->inputs()) {
    if (inside ? *input->type() == *output->type()
               : SameSizes(draft.Of(input), draft.Of(output)))
      return input;
  }
  return nullptr;
}

// Whether the results of `node` have been replaced; if not, some may be.
bool ReplaceResults(Draft& draft, Node* node, bool inside, Filling filling) {
  if (inside && filling != Filling::kOperand) return false;
  for (Value* output : node->outputs()) {
    if (!output->hasUses()) continue;
    Value* replacement = nullptr;
    if (filling == Filling::kOperand)
      replacement = Operand(draft, node, output, inside);
    if (replacement == nullptr && !inside && draft.Of(output) != nullptr)
      replacement = Materialize(draft, node, *draft.Of(output));
    if (replacement == nullptr) return false;
    output->replaceAllUsesWith(replacement);
  }
  return true;
}

void SetOutputs(Graph& graph, const std::vector<Value*>& values) {
  graph.eraseOutput(0);
  if (values.size() == 1) {
    graph.registerOutput(values[0]);
    return;
  }
  Node* tuple = graph.createTuple(values);
  graph.appendNode(tuple);
  graph.registerOutput(tuple->output());
}

void CollectLeaves(const Draft& draft, Value* value,
                   std::vector<Value*>& leaves) {
  const Node* node = value->node();
  const c10::IValue* recorded = draft.Of(value);
  if (node->kind() == c10::prim::TupleConstruct ||
      node->kind() == c10::prim::ListConstruct ||
      node->kind() == c10::prim::DictConstruct) {
    for (Value* element : value->node()->inputs())
      CollectLeaves(draft, element, leaves);
  } else if (IsTensor(recorded) ||
             (recorded != nullptr && IsTensorList(*recorded))) {
    leaves.push_back(value);
  }
}

std::vector<Value*> Leaves(Draft& draft) {
  std::vector<Value*> leaves;
  CollectLeaves(draft, draft.graph().outputs()[0], leaves);
  return leaves;
}

// The node of the top block that `node` is or is inside of.
const Node* TopNode(const Graph& graph, const Node* node) {
  while (node->owningBlock() != graph.block())
    node = node->owningBlock()->owningNode();
  return node;
}

void InlineBranch(Node* node, bool condition) {
  Block* branch = node->blocks()[condition ? 0 : 1];
  for (auto inner = branch->nodes().begin(); inner != branch->nodes().end();) {
    Node* moved = *inner;
    ++inner;
    moved->moveBefore(node);
  }
  for (size_t i = 0; i < node->outputs().size(); ++i)
    node->outputs()[i]->replaceAllUsesWith(branch->outputs()[i]);
  node->destroy();
}

bool HasLongConstantLoop(Block* block) {
  for (Node* node : block->nodes()) {
    if (node->kind() == c10::prim::Loop) {
      const std::optional<c10::IValue> count =
          torch::jit::toIValue(node->inputs()[0]);
      if (count && count->isInt() && count->toInt() > kMostIterations)
        return true;
    }
    for (Block* inner : node->blocks()) {
      if (HasLongConstantLoop(inner)) return true;
    }
  }
  return false;
}

}  // namespace

int NodeCount(const Program& program) {
  return static_cast<int>(EditableNodes(*program.graph).size());
}

std::optional<Program> KeepNodes(const Program& program,
                                 const Recording& recording,
                                 const std::vector<bool>& keep,
                                 Filling filling) {
  Draft draft(program, recording);
  const std::vector<EditableNode> nodes = EditableNodes(draft.graph());
  std::vector<bool> gone(nodes.size());
  bool changed = false;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto [node, parent] = nodes[i];
    if (parent >= 0 && gone[parent]) {
      gone[i] = true;  // with the node that it was inside of
    } else if (!keep[i] && ReplaceResults(draft, node, parent >= 0, filling)) {
      node->destroy();
      gone[i] = changed = true;
    }
  }
  return changed ? draft.Finish() : std::nullopt;
}

int TopNodeCount(const Program& program) {
  return static_cast<int>(TopNodes(*program.graph).size());
}

std::optional<Program> CutAfter(const Program& program,
                                const Recording& recording, int last) {
  Draft draft(program, recording);
  Graph& graph = draft.graph();
  const std::vector<Node*> nodes = TopNodes(graph);
  std::unordered_map<const Node*, int> numbers;
  for (size_t i = 0; i < nodes.size(); ++i)
    numbers[nodes[i]] = static_cast<int>(i);
  numbers[graph.return_node()] = static_cast<int>(nodes.size());
  std::vector<Value*> live;
  for (int i = 0; i <= last && i < static_cast<int>(nodes.size()); ++i) {
    for (Value* output : nodes[i]->outputs()) {
      const c10::IValue* recorded = draft.Of(output);
      if (!IsTensor(recorded) &&
          (recorded == nullptr || !IsTensorList(*recorded)))
        continue;
      if (std::any_of(output->uses().begin(), output->uses().end(),
                      [&](const torch::jit::Use& use) {
                        return numbers[TopNode(graph, use.user)] > last;
                      }))
        live.push_back(output);
    }
  }
  if (live.empty()) return std::nullopt;
  SetOutputs(graph, live);
  for (size_t i = nodes.size(); i-- > static_cast<size_t>(last) + 1;)
    nodes[i]->destroy();
  return draft.Finish();
}

int OutputCount(const Program& program, const Recording& recording) {
  Draft draft(program, recording);
  return static_cast<int>(Leaves(draft).size());
}

std::optional<Program> KeepOutputs(const Program& program,
                                   const Recording& recording,
                                   const std::vector<bool>& keep) {
  Draft draft(program, recording);
  const std::vector<Value*> leaves = Leaves(draft);
  std::vector<Value*> kept;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (keep[i]) kept.push_back(leaves[i]);
  }
  if (kept.empty()) return std::nullopt;
  SetOutputs(draft.graph(), kept);
  return draft.Finish();
}

std::optional<Program> WithoutControlFlow(const Program& program,
                                          const Recording& recording) {
  Draft draft(program, recording);
  bool changed = false;
  for (Node* node : TopNodes(draft.graph())) {
    if (node->kind() != c10::prim::If && node->kind() != c10::prim::Loop)
      continue;
    const c10::IValue* decides = draft.Of(node->inputs()[0]);
    if (decides == nullptr) continue;
    if (node->kind() == c10::prim::If && decides->isBool()) {
      InlineBranch(node, decides->toBool());
      changed = true;
    } else if (decides->isInt() && decides->toInt() <= kMostIterations) {
      const torch::jit::WithInsertPoint guard(node);
      node->replaceInput(0, draft.graph().insertConstant(*decides));
      changed = true;
    }
  }
  if (!changed) return std::nullopt;
  if (!HasLongConstantLoop(draft.graph().block()))
    torch::jit::UnrollConstantLoops(draft.program.graph);
  return draft.Finish();
}

std::optional<Program> WithoutMutation(const Program& program) {
  Draft draft(program);
  const bool lists = torch::jit::RemoveListMutation(draft.program.graph);
  const bool tensors = torch::jit::RemoveTensorMutation(draft.program.graph);
  return lists || tensors ? draft.Finish() : std::nullopt;
}

std::optional<Program> MergeInputs(const Program& program, int from, int to) {
  if (!SameSizes(&program.inputs[from], &program.inputs[to]))
    return std::nullopt;
  Draft draft(program);
  draft.graph().inputs()[from]->replaceAllUsesWith(draft.graph().inputs()[to]);
  return draft.Finish();
}

}  // namespace aitune::reduce
