#include "frontend/torchscript/autocast_contexts.h"

#include <ATen/autocast_mode.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/passes/autocast.h>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/csrc/jit/passes/peephole.h>
#include <torch/csrc/jit/passes/quantization/helper.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frontend/torchscript/copy_modules.h"
#include "frontend/torchscript/inline_calls.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

// The classes that LibTorch's pass knows.
bool IsContext(Value* value) {
  static const auto* const names = new std::set<std::string>{
      "__torch__.torch.amp.autocast_mode.autocast",
      "__torch__.torch.cpu.amp.autocast_mode.autocast",
      "__torch__.torch.cuda.amp.autocast_mode.autocast"};
  const std::optional<std::string> name = torch::jit::getModuleName(value);
  return name.has_value() && names->count(*name) > 0;
}

// Appends the nodes that enter and leave contexts.
void FindContexts(Block* block, std::vector<Node*>& found) {
  for (Node* node : block->nodes()) {
    if ((node->kind() == c10::prim::Enter || node->kind() == c10::prim::Exit) &&
        IsContext(node->input(0)))
      found.push_back(node);
    for (Block* inner : node->blocks()) FindContexts(inner, found);
  }
}

void ForEachCast(Block* block, const std::function<void(Node*)>& visit) {
  static const c10::Symbol kReduced = c10::Symbol::fromQualString(
                               "aten::_autocast_to_reduced_precision"),
                           kFull = c10::Symbol::fromQualString(
                               "aten::_autocast_to_full_precision");
  for (Node* node : block->nodes()) {
    if (node->kind() == kReduced || node->kind() == kFull) visit(node);
    for (Block* inner : node->blocks()) ForEachCast(inner, visit);
  }
}

bool IsOptionalTensor(const Value& value) {
  const auto optional = value.type()->cast<c10::OptionalType>();
  return optional != nullptr &&
         optional->getElementType()->kind() == c10::TypeKind::TensorType;
}

// Casts argument `position` of `node`, which may be None, as `cast` does.
void CastIfSet(Node* node, size_t position, Node& cast) {
  torch::jit::Graph& graph = *node->owningGraph();
  Value* const given = node->input(position);
  const torch::jit::WithInsertPoint before(node);
  Value* const none = graph.insertConstant(c10::IValue());
  Value* const is_set = graph.insert(c10::aten::__isnot__, {given, none});
  Node* const choice =
      graph.insertNode(graph.create(c10::prim::If, {is_set}, 1));
  Block* const set = choice->addBlock();
  Block* const unset = choice->addBlock();
  {
    const torch::jit::WithInsertPoint inside(set);
    Node* const tensor =
        graph.insertNode(graph.create(c10::prim::unchecked_cast, {given}, 1));
    tensor->output()->setType(c10::TensorType::get());
    Node* const made = graph.insertNode(graph.create(cast.kind(), 1));
    made->addInput(tensor->output());
    for (size_t i = 1; i < cast.inputs().size(); ++i)
      made->addInput(cast.input(i));
    set->registerOutput(made->output());
  }
  unset->registerOutput(none);
  choice->output()->setType(given->type());
  node->replaceInput(position, choice->output());
}

// LibTorch's pass casts arguments whose type is Tensor. The bias of a
// convolution is an optional one, and must have the dtype of what it is added
// to, so that LibTorch then refuses the call. What is computed in one dtype is
// computed in it with all of its arguments, as autocast in Python does.
void CastOptionalArguments(torch::jit::Graph& graph) {
  std::vector<Node*> casts;
  ForEachCast(graph.block(), [&](Node* cast) { casts.push_back(cast); });
  std::set<Node*> done;
  for (Node* cast : casts) {
    const torch::jit::use_list uses = cast->output()->uses();
    for (const torch::jit::Use& use : uses) {
      Node* const user = use.user;
      if (user->maybeSchema() == nullptr || !done.insert(user).second) continue;
      for (size_t i = 0; i < user->inputs().size(); ++i) {
        if (IsOptionalTensor(*user->input(i))) CastIfSet(user, i, *cast);
      }
    }
  }
}

// Throws for a question in a context. `depth` contexts are entered at the
// start.
void RefuseQuestions(Block* block, int depth) {
  static const c10::Symbol kQuestions[] = {
      c10::Symbol::fromQualString("aten::is_autocast_enabled"),
      c10::Symbol::fromQualString("aten::is_autocast_cpu_enabled")};
  for (Node* node : block->nodes()) {
    if (node->kind() == c10::prim::Enter && IsContext(node->input(0))) ++depth;
    if (node->kind() == c10::prim::Exit && IsContext(node->input(0))) --depth;
    for (const c10::Symbol question : kQuestions) {
      TORCH_CHECK(depth == 0 || node->kind() != question,
                  question.toQualString(),
                  " is asked where autocast is on, which ends LibTorch's "
                  "process; take it out of the autocast context");
    }
    for (Block* inner : node->blocks()) RefuseQuestions(inner, depth);
  }
}

bool HasContexts(torch::jit::Graph& graph) {
  std::vector<Node*> found;
  FindContexts(graph.block(), found);
  return !found.empty();
}

}  // namespace

void MakeCasts(std::shared_ptr<torch::jit::Graph> graph) {
  RefuseQuestions(graph->block(),
                  at::autocast::is_autocast_enabled(at::kCPU) ||
                          at::autocast::is_autocast_enabled(at::kCUDA)
                      ? 1
                      : 0);
  if (HasContexts(*graph)) {
    // What LibTorch does between inlining and its pass, which needs constants.
    torch::jit::PeepholeOptimize(graph, /*disable_shape_peepholes=*/true);
    torch::jit::ConstantPropagationImmutableTypes(graph);
  }
  torch::jit::Autocast(graph);
  CastOptionalArguments(*graph);
  RemoveContexts(*graph);
}

void MakeCastsOfContexts(const std::shared_ptr<torch::jit::Graph>& graph) {
  if (HasContexts(*graph)) MakeCasts(graph);
}

void RemoveContexts(torch::jit::Graph& graph) {
  std::vector<Node*> found;
  FindContexts(graph.block(), found);
  std::set<Value*> contexts;
  for (Node* node : found) {
    contexts.insert(node->input(0));
    if (node->kind() == c10::prim::Enter)
      node->output()->replaceAllUsesWith(node->input(0));
    node->destroy();
  }
  // The objects themselves, if nothing else has them.
  for (Value* context : contexts) {
    const torch::jit::use_list uses = context->uses();
    const bool only_set =
        context->node()->kind() == c10::prim::CreateObject &&
        std::all_of(uses.begin(), uses.end(), [](const torch::jit::Use& use) {
          return use.user->kind() == c10::prim::SetAttr && use.offset == 0;
        });
    if (!only_set) continue;
    for (const torch::jit::Use& use : uses) use.user->destroy();
    context->node()->destroy();
  }
}

void SwapDevicesOfCasts(torch::jit::Graph& graph) {
  ForEachCast(graph.block(), [](Node* cast) {
    // The tensor, then for both devices: flags, then dtypes if it has them.
    for (size_t i = 1; i + 1 < cast->inputs().size(); i += 2) {
      Value* const gpu = cast->input(i);
      cast->replaceInput(i, cast->input(i + 1));
      cast->replaceInput(i + 1, gpu);
    }
  });
}

torch::jit::Module WithCastsOfContexts(const torch::jit::Module& module) {
  const std::shared_ptr<torch::jit::Graph> inlined =
      module.get_method("forward").graph()->copy();
  InlineCalls(*inlined);
  if (!HasContexts(*inlined)) return module;
  torch::jit::Module copy = CloneProgram(module);
  const std::shared_ptr<torch::jit::Graph> graph =
      copy.get_method("forward").graph();
  InlineCalls(*graph);
  MakeCastsOfContexts(graph);
  return copy;
}

}  // namespace aitune::frontend
