#include "frontend/tracing/region_runner.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/run_limits.h"
#include "frontend/torchscript/written_arguments.h"
#include "frontend/tracing/graph_program.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/known_lists.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/tracing/outlining.h"
#include "frontend/tracing/outlining_rules.h"
#include "frontend/tracing/probe_program.h"
#include "frontend/tracing/region_layouts.h"
#include "frontend/tracing/region_sizes.h"
#include "frontend/tracing/region_writes.h"
#include "frontend/tracing/shared_memory.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
using Kind = ProbedValue::Kind;

// The values that `node` and its blocks read from outside, in order.
class FreeValues {
 public:
  explicit FreeValues(Node* node) {
    for (Value* input : node->inputs()) Add(input);
    for (Block* block : node->blocks()) Visit(block);
  }
  const std::vector<Value*>& values() const { return values_; }

 private:
  void Add(Value* value) {
    if (inside_.count(value) == 0 && seen_.insert(value).second)
      values_.push_back(value);
  }
  void Visit(Block* block) {
    for (Value* input : block->inputs()) inside_.insert(input);
    for (Node* node : block->nodes()) {
      for (Value* input : node->inputs()) Add(input);
      for (Block* inner : node->blocks()) Visit(inner);
      for (Value* output : node->outputs()) inside_.insert(output);
    }
    for (Value* output : block->outputs()) Add(output);
  }

  std::vector<Value*> values_;
  std::unordered_set<Value*> inside_, seen_;
};

// The weights of the linear layers in the blocks of `node`.
std::set<Value*> LinearWeights(Node* node) {
  std::set<Value*> weights;
  for (Block* block : node->blocks()) {
    for (Node* inner : block->nodes()) {
      if (inner->kind() == c10::aten::linear) weights.insert(inner->input(1));
      weights.merge(LinearWeights(inner));
    }
  }
  return weights;
}

// Those of `contents`, by their places, whose elements are the same in each
// call.
std::map<size_t, at::Tensor> KnownTensors(
    const std::vector<ProbedRef>& contents) {
  std::map<size_t, at::Tensor> known;
  for (size_t i = 0; i < contents.size(); ++i) {
    const ProbedValue& content = *contents[i];
    if (!content.IsTensor() || !content.storage->constant ||
        content.storage->tainted || content.storage->state >= 0 ||
        content.tensor().unsafeGetTensorImpl()->is_wrapped_number())
      continue;
    // What the program has made it may write later.
    const at::Tensor& tensor = content.tensor();
    known.emplace(i,
                  content.storage->read_only.empty() ? tensor.clone() : tensor);
  }
  return known;
}

bool IsList(const ProbedValue& value) {
  return value.kind == Kind::kList ||
         (value.kind == Kind::kOpaque && value.probes[0].isList());
}

// Whether `value` is `list` or has it as a part.
bool Holds(const ProbedValue& value, const ProbedValue& list) {
  return &value == &list ||
         std::any_of(value.elements.begin(), value.elements.end(),
                     [&](const ProbedRef& e) { return Holds(*e, list); });
}

}  // namespace

bool RegionRunner::CanRun(Node* node) {
  NodeRegion region;
  region.node = node;
  region.free = FreeValues(node).values();
  return Check(region).ok();
}

absl::Status RegionRunner::Check(const NodeRegion& region) {
  Node* const node = region.node;
  if (RunsUnknownProgram(*node))
    return absl::UnimplementedError(
        "it calls a method that is bound at run time, which may write to "
        "anything");
  if (Contains(node, {c10::prim::SetAttr})) {
    return absl::UnimplementedError(
        "the model changes its own attributes where control flow depends on "
        "data");
  }
  if (UpdatesStatistics(node)) {
    return absl::UnimplementedError(
        "statistics are updated where control flow depends on data");
  }
  for (torch::jit::Block* block : node->blocks()) {
    if (WritesHiddenArguments(block))
      return absl::UnimplementedError(absl::StrCat(
          "a tensor is written that may be another one where ", region.reason));
  }
  if (interpreter_.aliases_ == nullptr && !node->blocks().empty() &&
      node->owningGraph() == interpreter_.graph_.get()) {
    interpreter_.aliases_ =
        std::make_unique<torch::jit::AliasDb>(interpreter_.graph_);
  }
  // Before any of it runs: what a try writes would stay.
  if (interpreter_.aliases_ != nullptr &&
      WritesState(node, *interpreter_.aliases_)) {
    return absl::UnimplementedError(
        "the model's own tensors, lists or dicts are written where control "
        "flow depends on data");
  }
  if (interpreter_.aliases_ != nullptr &&
      ChangesSizes(node, region.free, *interpreter_.aliases_)) {
    return absl::UnimplementedError(
        absl::StrCat("a tensor gets other sizes where ", region.reason));
  }
  return absl::OkStatus();
}

absl::Status RegionRunner::FindInputs(NodeRegion& region) {
  Node* const node = region.node;
  const std::string& reason = region.reason;
  for (size_t i = 0; i < region.free.size(); ++i) {
    Value* const free = region.free[i];
    const ProbedRef content = interpreter_.Get(free);
    if (content == nullptr)
      return absl::UnimplementedError("a value is read before it is computed");
    region.contents.push_back(content);
    if (node->blocks().empty()) continue;
    if (interpreter_.aliases_ == nullptr)
      return absl::UnimplementedError(
          "control flow on data inside a decomposed operator");
    // The attributes of an object are the model's state, and an optional tensor
    // that is there has no elements that are values.
    if (free->type()->kind() != c10::TypeKind::TensorType &&
        !content->IsTensor() &&
        free->type()->kind() != c10::TypeKind::ClassType &&
        WritesElements(node, free, *interpreter_.aliases_)) {
      return absl::UnimplementedError(absl::StrCat(
          "the elements of a list, dict or tuple are written where ", reason));
    }
    // A list that is written may hold a tensor that is not.
    if (content->IsTensor() && !MayWriteElements(node)) continue;
    if (!interpreter_.aliases_->writesToAlias(node, {free})) continue;
    if (IsList(*content)) {
      region.lists.push_back(i);
      continue;
    }
    if (!content->IsTensor()) {
      return absl::UnimplementedError(
          absl::StrCat("a dict or attribute is changed where ", reason));
    }
    // LibTorch does not tell them apart.
    if (!content->storage->read_only.empty())
      return absl::UnimplementedError(absl::StrCat(
          "an argument or a tensor of the model is written where ", reason));
    AITUNE_RETURN_IF_ERROR(interpreter_.SettlePossibleViews(*content->storage));
    AITUNE_RETURN_IF_ERROR(interpreter_.functionalizer_.PrepareWrite(
        *content, /*separate_probes=*/true));
    region.written.push_back(i);
  }
  const auto any_other = [&](size_t i, const auto& is) {
    for (size_t other = 0; other < region.contents.size(); ++other) {
      if (other != i && is(*region.contents[other], *region.contents[i]))
        return true;
    }
    return false;
  };
  for (const size_t i : region.lists) {
    if (any_other(i, Holds))
      return absl::UnimplementedError(
          absl::StrCat("two names of a list that is changed where ", reason));
  }
  for (const size_t i : region.written) {
    if (any_other(i, [](const ProbedValue& other, const ProbedValue& tensor) {
          return other.IsTensor() && other.tensor().storage().is_alias_of(
                                         tensor.tensor().storage());
        }))
      return absl::UnimplementedError(
          absl::StrCat("two views of a tensor that is written where ", reason));
  }
  return absl::OkStatus();
}

absl::Status RegionRunner::MakeProgram(NodeRegion& region) const {
  // A graph of the node alone. Tensors and lists that it writes are copied
  // first, and the copies are results too.
  auto graph = std::make_shared<Graph>();
  std::unordered_map<Value*, Value*> inner;
  for (size_t i = 0; i < region.free.size(); ++i) {
    Value* input = graph->addInput();
    // An optional tensor that is there is a tensor, which may go into a part
    // that is compiled.
    input->setType(region.contents[i]->IsTensor() ? c10::TensorType::get()
                                                  : region.free[i]->type());
    inner[region.free[i]] = input;
  }
  // What is the same in each call is a constant, so that the program is known
  // better.
  for (size_t i = 0; i < region.free.size(); ++i) {
    const ProbedValue& content = *region.contents[i];
    if (const auto number = torch::jit::toIValue(region.free[i]);
        number && !MayWriteElements(region.node) && number->isTensor() &&
        IsNumberOfTrace(number->toTensor())) {
      inner[region.free[i]] = graph->insertConstant(*number);
      continue;
    }
    const bool may_change =
        content.kind != Kind::kPlain &&
        region.free[i]->node()->kind() != c10::prim::Constant;
    if (region.node->blocks().empty() || content.IsTensor() || may_change ||
        !IsUniform(content))
      continue;
    const c10::IValue value = ValueInProbe(content, 0);
    // What a loop returns has no value before it does, which nobody reads.
    if (value.isNone() &&
        !c10::NoneType::get()->isSubtypeOf(*region.free[i]->type()))
      continue;
    const auto constant = torch::jit::tryInsertConstant(*graph, value);
    if (!constant) continue;
    (*constant)->setType(region.free[i]->type());
    inner[region.free[i]] = *constant;
  }
  const auto copy = [&](size_t place, c10::Symbol by) {
    Value* const free = region.free[place];
    Value* const copied = graph->insert(by, {inner[free]});
    copied->setType(free->type());
    inner[free] = copied;
  };
  for (const size_t i : region.lists) copy(i, c10::aten::list);
  for (const size_t i : region.written) {
    copy(i, region.is_laid_out(i) ? CloneOfMemoryKind() : c10::aten::clone);
  }
  Node* clone = graph->appendNode(graph->createClone(
      region.node, [&](Value* value) { return inner.at(value); }));
  // What controls the node comes in again on its own, to try the other ways.
  for (size_t i = 0; i < region.controls; ++i) {
    Value* control = graph->addInput();
    control->setType(region.node->input(i)->type());
    clone->replaceInput(i, control);
  }
  for (Value* output : clone->outputs()) graph->registerOutput(output);
  for (const std::vector<size_t>* places : {&region.written, &region.lists}) {
    for (const size_t i : *places) graph->registerOutput(inner[region.free[i]]);
  }
  return CatchExceptions(
      absl::StatusCode::kUnimplemented, region.node->kind().toQualString(),
      [&] {
        if (region.has_one_way() && region.gives_lists()) {
          const std::shared_ptr<Graph> whole = WithLimits(graph->copy());
          region.run_elsewhere =
              Remembering(MakeGraphProgram(whole, "region at other sizes").run);
        }
        // What is compiled need not give tensors that lie as eager's.
        if (interpreter_.options_.outlines && !region.node->blocks().empty() &&
            !interpreter_.asks_for_layout_) {
          OutlinedGraph outlined =
              OutlineBlocks(graph, KnownTensors(region.contents));
          graph = std::move(outlined.graph);
          region.outlined = std::move(outlined.programs);
        }
        region.program = MakeGraphProgram(graph, "region");
        region.graph = graph;
        const std::shared_ptr<Graph> limited = WithLimits(graph);
        region.is_limited = !HasCalls(limited->block());
        region.run_in_probe = MakeProbeProgram(
            limited, limited == graph
                         ? region.program.run
                         : MakeGraphProgram(limited, "probe of a region").run);
        return absl::OkStatus();
      });
}

absl::StatusOr<ProbedRef> RegionRunner::ResultOf(const NodeRegion& region,
                                                 const RegionWays& ways,
                                                 size_t output,
                                                 ResultTemplate* recipe) {
  const std::vector<ProbedRef>& contents = region.contents;
  std::vector<c10::IValue> probes;
  for (const std::vector<c10::IValue>& probe : ways.outputs)
    probes.push_back(probe[output]);
  ResultTraits traits;
  traits.tainted = true;
  for (const ProbedRef& content : contents) {
    if (content->IsTensor()) {
      traits.sources.insert(traits.sources.end(), content->type.sizes.begin(),
                            content->type.sizes.end());
    }
  }
  const bool is_known = ways.stable[output] && probes[0].isTensor();
  ProbedRef result;
  if (is_known) {
    AITUNE_ASSIGN_OR_RETURN(result,
                            interpreter_.Convert(probes, traits, recipe));
    const bool is_seen = region.irregular.empty() || !ways.missed_sizes;
    if (result->IsTensor() && result->has_type &&
        (!is_seen || !HasItsSizesElsewhere(ways, output, result->type)))
      result = nullptr;
  }
  if (result == nullptr) {
    *recipe = ResultTemplate();
    result = interpreter_.MakeOpaque(std::move(probes), region.reason, recipe);
  }
  if (result->kind != Kind::kOpaque) return result;
  const auto& kinds = ways.kinds[output];
  result->of_varying_type =
      ways.others_unseen ||
      Contains(region.node, {c10::aten::squeeze, c10::aten::squeeze_}) ||
      std::any_of(contents.begin(), contents.end(),
                  [](const ProbedRef& c) { return HasVaryingType(*c); }) ||
      std::any_of(kinds.begin(), kinds.end(),
                  [](const auto& place) { return place.second.size() > 1; });
  NoteKnownList(region, ways, output, *result);
  return result;
}

absl::Status RegionRunner::Run(Node* node, const std::string& reason) {
  const c10::InferenceMode inference;
  NodeRegion region;
  region.node = node;
  region.reason = reason;
  region.free = FreeValues(node).values();
  region.controls = region.is_if() ? 1 : region.is_loop() ? 2 : 0;
  AITUNE_RETURN_IF_ERROR(Check(region));
  AITUNE_RETURN_IF_ERROR(FindInputs(region));
  AITUNE_RETURN_IF_ERROR(FindLayouts(region));
  AITUNE_RETURN_IF_ERROR(MakeProgram(region));
  FindFunctions(region);
  AITUNE_ASSIGN_OR_RETURN(RegionWays ways, RunAllWays(region));
  AITUNE_RETURN_IF_ERROR(FindIrregularSizes(region, ways));
  RunElsewhere(region, ways);

  const size_t output_count = region.output_count();
  std::vector<ArgumentTemplate> recipes;
  const std::set<Value*> are_weights = LinearWeights(node);
  std::vector<ValueId> linear_weights;
  for (size_t i = 0; i < region.contents.size(); ++i) {
    if (region.is_laid_out(i)) {
      AITUNE_ASSIGN_OR_RETURN(ArgumentTemplate memory,
                              MemoryOf(*region.contents[i]));
      recipes.push_back(std::move(memory));
      continue;
    }
    AITUNE_ASSIGN_OR_RETURN(ArgumentTemplate recipe,
                            interpreter_.ToTemplate(region.contents[i]));
    if (are_weights.count(region.free[i]) > 0 &&
        recipe.kind == ArgumentTemplate::Kind::kValue)
      linear_weights.push_back(recipe.value);
    recipes.push_back(std::move(recipe));
  }
  for (size_t i = 0; i < region.controls; ++i) {
    AITUNE_ASSIGN_OR_RETURN(
        ArgumentTemplate recipe,
        interpreter_.ToTemplate(interpreter_.Get(node->input(i))));
    recipes.push_back(std::move(recipe));
  }
  const size_t first_list = output_count + region.written.size();
  std::vector<ResultTemplate> templates(first_list + region.lists.size());
  std::vector<ProbedRef> results;  // what the stack has after a run
  for (size_t i = 0; i < output_count; ++i) {
    AITUNE_ASSIGN_OR_RETURN(ProbedRef result,
                            ResultOf(region, ways, i, &templates[i]));
    for (const size_t j : ways.aliased[i])
      NoteSharing(*result, *region.contents[j]);
    results.push_back(result);
    interpreter_.Set(node->outputs()[i], std::move(result));
  }
  std::vector<ValueId> new_values;
  for (size_t i = 0; i < region.written.size(); ++i) {
    new_values.push_back(interpreter_.builder_.AddTensor(
        region.contents[region.written[i]]->type));
    templates[output_count + i].value = new_values.back();
  }
  for (size_t i = 0; i < region.lists.size(); ++i) {
    // The list still contains its earlier elements, which must not be written.
    const ProbedRef& list = region.contents[region.lists[i]];
    std::vector<ProbedRef> held;
    CollectTensors(list, held);
    for (const ProbedRef& tensor : held) tensor->storage->unknown_views = true;
    std::vector<c10::IValue> probes;
    for (const std::vector<c10::IValue>& probe : ways.outputs)
      probes.push_back(probe[first_list + i]);
    *list = *interpreter_.MakeOpaque(std::move(probes), reason,
                                     &templates[first_list + i]);
    NoteKnownList(region, ways, first_list + i, *list);
  }
  std::vector<std::shared_ptr<OutlinedProgram>>& all =
      interpreter_.builder_.trace().outlined;
  all.insert(all.end(), region.outlined.begin(), region.outlined.end());
  RecordedProgram program = ProgramWithLayouts(region, recipes);
  interpreter_.builder_.AddRegion(
      node->kind().toQualString(), std::move(program), std::move(recipes),
      std::move(templates), reason,
      Contains(node, {c10::prim::RaiseException, c10::prim::Print}),
      std::move(linear_weights));
  for (size_t i = 0; i < region.written.size(); ++i) {
    const ProbedRef& target = region.contents[region.written[i]];
    AITUNE_RETURN_IF_ERROR(interpreter_.functionalizer_.Write(
        *target, new_values[i], /*tainted=*/true));
    AITUNE_RETURN_IF_ERROR(interpreter_.functionalizer_.PrepareWrite(
        *target, /*separate_probes=*/true));
    for (size_t probe = 0; probe < ways.outputs.size(); ++probe) {
      at::Tensor(target->tensor(probe))
          .copy_(ways.outputs[probe][output_count + i].toTensor());
    }
    results.push_back(target);
  }
  for (const size_t i : region.lists) results.push_back(region.contents[i]);
  for (size_t i = 0; i < output_count; ++i) {
    for (const size_t j : ways.shared[i]) NoteSharing(*results[i], *results[j]);
  }
  return absl::OkStatus();
}

}  // namespace aitune::frontend
