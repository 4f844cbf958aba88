// Nodes that LibTorch runs whole: control flow that depends on data, and what
// takes apart values that only LibTorch knows.
#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/tracing/graph_program.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/tracing/probe_program.h"
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

bool ContainsKind(Block* block, const std::vector<c10::Symbol>& kinds) {
  for (Node* node : block->nodes()) {
    if (std::find(kinds.begin(), kinds.end(), node->kind()) != kinds.end())
      return true;
    for (Block* inner : node->blocks()) {
      if (ContainsKind(inner, kinds)) return true;
    }
  }
  return false;
}

bool Contains(Node* node, const std::vector<c10::Symbol>& kinds) {
  return std::any_of(node->blocks().begin(), node->blocks().end(),
                     [&](Block* block) { return ContainsKind(block, kinds); });
}

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

// Whether a value that only LibTorch knows is a tensor of unknown sizes, or a
// number that may become a size.
bool BringsSizes(const ProbedValue& value) {
  if (value.kind == Kind::kOpaque && !value.has_sizes)
    return !value.probes[0].isBool() && !value.probes[0].isDouble();
  return std::any_of(value.elements.begin(), value.elements.end(),
                     [](const ProbedRef& e) { return BringsSizes(*e); });
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

// Adds what `value` and its parts are, by their places: one text for each
// dtype, rank or kind. The elements of a list have one place.
void AddKinds(const c10::IValue& value, const std::string& place,
              std::map<std::string, std::set<std::string>>& kinds) {
  if (value.isTensor() && value.toTensor().defined()) {
    const at::Tensor& tensor = value.toTensor();
    kinds[place].insert(absl::StrCat(c10::toString(tensor.scalar_type()), " ",
                                     tensor.is_nested() ? -1 : tensor.dim()));
    return;
  }
  kinds[place].insert(value.tagKind());
  if (value.isList()) {
    for (const c10::IValue& element : value.toListRef())
      AddKinds(element, place + "[]", kinds);
  } else if (value.isTuple()) {
    for (size_t i = 0; i < value.toTupleRef().elements().size(); ++i)
      AddKinds(value.toTupleRef().elements()[i], absl::StrCat(place, "(", i),
               kinds);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict())
      AddKinds(entry.value(), place + "{}", kinds);
  }
}

bool SameType(const c10::IValue& a, const c10::IValue& b) {
  return a.isTensor() && b.isTensor() && IsPlainTensor(a.toTensor()) &&
         IsPlainTensor(b.toTensor()) &&
         a.toTensor().scalar_type() == b.toTensor().scalar_type() &&
         a.toTensor().sizes() == b.toTensor().sizes();
}

}  // namespace

absl::Status Interpreter::RunAsRegion(Node* node, const std::string& reason) {
  const c10::InferenceMode inference;
  if (Contains(node, {c10::prim::SetAttr})) {
    return absl::UnimplementedError(
        "the model changes its own attributes where control flow depends on "
        "data");
  }
  if (UpdatesStatistics(node)) {
    return absl::UnimplementedError(
        "statistics are updated where control flow depends on data");
  }
  const std::vector<Value*> free = FreeValues(node).values();
  const bool is_if = node->kind() == c10::prim::If,
             is_loop = node->kind() == c10::prim::Loop;

  // A graph of the node alone. Tensors and lists that it writes are copied
  // first, and the copies are results too.
  auto graph = std::make_shared<Graph>();
  std::unordered_map<Value*, Value*> inner;
  std::vector<size_t> written, lists;
  std::vector<ProbedRef> contents;
  if (aliases_ == nullptr && !node->blocks().empty() &&
      node->owningGraph() == graph_.get()) {
    aliases_ = std::make_unique<torch::jit::AliasDb>(graph_);
  }
  // Before any of it runs: what a try writes would stay.
  if (aliases_ != nullptr && WritesState(node, *aliases_)) {
    return absl::UnimplementedError(
        "the model's own tensors, lists or dicts are written where control "
        "flow depends on data");
  }
  if (aliases_ != nullptr && ChangesSizes(node, free, *aliases_)) {
    return absl::UnimplementedError(
        absl::StrCat("a tensor gets other sizes where ", reason));
  }
  for (size_t i = 0; i < free.size(); ++i) {
    const ProbedRef content = Get(free[i]);
    if (content == nullptr)
      return absl::UnimplementedError("a value is read before it is computed");
    contents.push_back(content);
    Value* input = graph->addInput();
    input->setType(free[i]->type());
    inner[free[i]] = input;
    if (node->blocks().empty()) continue;
    if (aliases_ == nullptr)
      return absl::UnimplementedError(
          "control flow on data inside a decomposed operator");
    // The attributes of an object are the model's state.
    if (free[i]->type()->kind() != c10::TypeKind::TensorType &&
        free[i]->type()->kind() != c10::TypeKind::ClassType &&
        WritesElements(node, free[i], *aliases_)) {
      return absl::UnimplementedError(absl::StrCat(
          "the elements of a list, dict or tuple are written where ", reason));
    }
    if (!aliases_->writesToAlias(node, {free[i]})) continue;
    if (IsList(*content)) {
      lists.push_back(i);
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
    AITUNE_RETURN_IF_ERROR(SettlePossibleViews(*content->storage));
    AITUNE_RETURN_IF_ERROR(
        functionalizer_.PrepareWrite(*content, /*separate_probes=*/true));
    written.push_back(i);
  }
  for (const size_t i : lists) {
    Value* copy = graph->insert(c10::aten::list, {inner[free[i]]});
    copy->setType(free[i]->type());
    inner[free[i]] = copy;
    for (size_t other = 0; other < contents.size(); ++other) {
      if (other != i && Holds(*contents[other], *contents[i]))
        return absl::UnimplementedError(
            absl::StrCat("two names of a list that is changed where ", reason));
    }
  }
  for (const size_t i : written) {
    Value* copy = graph->insert(c10::aten::clone, {inner[free[i]]});
    copy->setType(free[i]->type());
    inner[free[i]] = copy;
    for (size_t other = 0; other < contents.size(); ++other) {
      if (other != i && contents[other]->IsTensor() &&
          contents[other]->tensor().storage().is_alias_of(
              contents[i]->tensor().storage())) {
        return absl::UnimplementedError(absl::StrCat(
            "two views of a tensor that is written where ", reason));
      }
    }
  }
  Node* clone = graph->appendNode(
      graph->createClone(node, [&](Value* value) { return inner.at(value); }));
  // What controls the node comes in again on its own, to try the other ways.
  const size_t controls = is_if ? 1 : is_loop ? 2 : 0;
  for (size_t i = 0; i < controls; ++i) {
    Value* control = graph->addInput();
    control->setType(node->input(i)->type());
    clone->replaceInput(i, control);
  }
  for (Value* output : clone->outputs()) graph->registerOutput(output);
  for (const size_t i : written) graph->registerOutput(inner[free[i]]);
  for (const size_t i : lists) graph->registerOutput(inner[free[i]]);
  RecordedProgram program;
  RecordedFunction run_in_probe;
  const absl::Status compiled = CatchExceptions(
      absl::StatusCode::kUnimplemented, node->kind().toQualString(), [&] {
        program = MakeGraphProgram(graph, "region");
        run_in_probe = MakeProbeProgram(graph, program.run);
        return absl::OkStatus();
      });
  if (!compiled.ok()) return compiled;

  // Run the region as its data decides, and then with each other decision that
  // data could make: each branch of an if, no round and one round of a loop. A
  // tensor that has the same type each time has that type in the trace, unless
  // sizes in the region come from data. Other results stay LibTorch's.
  const size_t output_count = node->outputs().size();
  std::vector<std::vector<c10::IValue>> outputs;
  const bool sizes_known =
      std::none_of(contents.begin(), contents.end(),
                   [](const ProbedRef& c) { return BringsSizes(*c); }) &&
      std::none_of(node->blocks().begin(), node->blocks().end(), MayPickSizes);
  std::vector<bool> stable(output_count, (is_if || is_loop) && sizes_known);
  for (size_t i = 0; i < output_count; ++i)
    stable[i] = stable[i] && !MayBeOfSeveralTypes(*node->output(i)->type());
  // By output: what it and its parts are, some way.
  std::vector<std::map<std::string, std::set<std::string>>> kinds(output_count);
  bool all_ways_run = true;
  // Control flow in the blocks goes only the ways that the probes' elements
  // say. What other ways give is not seen.
  const bool nested = Contains(node, {c10::prim::If, c10::prim::Loop});
  // By output: the values that it shares memory with, some way, of those that
  // went in and of the results.
  std::vector<std::set<size_t>> aliased(output_count), shared(output_count);
  for (size_t probe = 0; probe < fitter_.probes().size(); ++probe) {
    std::vector<c10::IValue> given;
    for (const ProbedRef& content : contents)
      given.push_back(ValueInProbe(*content, probe));
    const auto attempt = [&](const std::vector<c10::IValue>& control,
                             std::vector<c10::IValue>* stack) {
      *stack = given;
      stack->insert(stack->end(), control.begin(), control.end());
      const absl::Status status =
          CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
            run_in_probe(*stack);
            return absl::OkStatus();
          });
      for (size_t i = 0; status.ok() && i < output_count; ++i) {
        AddKinds((*stack)[i], "", kinds[i]);
        for (size_t j = 0; j < given.size(); ++j) {
          if (ShareMemory((*stack)[i], given[j])) aliased[i].insert(j);
        }
        for (size_t j = i + 1; j < stack->size(); ++j) {
          if (ShareMemory((*stack)[i], (*stack)[j])) shared[i].insert(j);
        }
      }
      return status;
    };
    std::vector<c10::IValue> actual;
    for (size_t i = 0; i < controls; ++i)
      actual.push_back(ValueInProbe(*Get(node->input(i)), probe));
    std::vector<c10::IValue>& stack = outputs.emplace_back();
    absl::Status status = attempt(actual, &stack);
    // The elements of probes may be random: where an if raises for them, the
    // other branch shows as well what it gives, and a loop one round or none.
    if (!status.ok() && is_if) status = attempt({!actual[0].toBool()}, &stack);
    if (!status.ok() && is_loop) status = attempt({int64_t{1}, true}, &stack);
    if (!status.ok() && is_loop) status = attempt({int64_t{0}, false}, &stack);
    if (!status.ok()) return absl::UnimplementedError(status.message());
    std::vector<std::vector<c10::IValue>> others;
    if (is_if) others = {{true}, {false}};
    if (is_loop && reason != kLongLoop)
      others = {{int64_t{0}, false}, {int64_t{1}, true}};
    for (const std::vector<c10::IValue>& control : others) {
      std::vector<c10::IValue> other;
      // A way that fails gives no result, so it does not matter for the type.
      if (!attempt(control, &other).ok()) {
        all_ways_run = false;
        continue;
      }
      for (size_t i = 0; i < output_count; ++i)
        stable[i] = stable[i] && SameType(stack[i], other[i]);
    }
  }

  for (size_t i = 0;
       (nested || !all_ways_run) && aliases_ != nullptr && i < output_count;
       ++i) {
    for (size_t j = 0; j < free.size(); ++j) {
      if (aliases_->mayContainAlias(node->output(i), free[j]))
        aliased[i].insert(j);
    }
    for (size_t j = i + 1; j < output_count; ++j) {
      if (aliases_->mayContainAlias(node->output(i), node->output(j)))
        shared[i].insert(j);
    }
  }

  std::vector<ArgumentTemplate> recipes;
  const std::set<Value*> are_weights = LinearWeights(node);
  std::vector<ValueId> linear_weights;
  for (size_t i = 0; i < contents.size(); ++i) {
    AITUNE_ASSIGN_OR_RETURN(ArgumentTemplate recipe, ToTemplate(contents[i]));
    if (are_weights.count(free[i]) > 0 &&
        recipe.kind == ArgumentTemplate::Kind::kValue)
      linear_weights.push_back(recipe.value);
    recipes.push_back(std::move(recipe));
  }
  for (size_t i = 0; i < controls; ++i) {
    AITUNE_ASSIGN_OR_RETURN(ArgumentTemplate recipe,
                            ToTemplate(Get(node->input(i))));
    recipes.push_back(std::move(recipe));
  }
  const size_t first_list = output_count + written.size();
  std::vector<ResultTemplate> templates(first_list + lists.size());
  std::vector<ProbedRef> results;  // what the stack has after a run
  for (size_t i = 0; i < output_count; ++i) {
    std::vector<c10::IValue> probes;
    for (const std::vector<c10::IValue>& probe : outputs)
      probes.push_back(probe[i]);
    ResultTraits traits;
    traits.tainted = true;
    if (!stable[i] || !probes[0].isTensor()) traits.opaque = reason;
    for (const ProbedRef& content : contents) {
      if (content->IsTensor()) {
        traits.sources.insert(traits.sources.end(), content->type.sizes.begin(),
                              content->type.sizes.end());
      }
    }
    AITUNE_ASSIGN_OR_RETURN(
        ProbedRef result,
        traits.opaque.empty()
            ? Convert(std::move(probes), traits, &templates[i])
            : MakeOpaque(std::move(probes), reason, &templates[i]));
    if (result->kind == Kind::kOpaque) {
      result->of_varying_type =
          nested || !all_ways_run ||
          std::any_of(contents.begin(), contents.end(),
                      [](const ProbedRef& c) { return HasVaryingType(*c); }) ||
          std::any_of(kinds[i].begin(), kinds[i].end(), [](const auto& place) {
            return place.second.size() > 1;
          });
    }
    for (const size_t j : aliased[i]) NoteSharing(*result, *contents[j]);
    results.push_back(result);
    Set(node->outputs()[i], std::move(result));
  }
  for (size_t i = 0; i < written.size(); ++i) {
    templates[output_count + i].value =
        builder_.AddTensor(contents[written[i]]->type);
  }
  std::vector<ValueId> new_values;
  for (size_t i = 0; i < written.size(); ++i)
    new_values.push_back(templates[output_count + i].value);
  for (size_t i = 0; i < lists.size(); ++i) {
    // The list still contains its earlier elements, which must not be written.
    ProbedRef& list = contents[lists[i]];
    std::vector<ProbedRef> held;
    CollectTensors(list, held);
    for (const ProbedRef& tensor : held) tensor->storage->unknown_views = true;
    std::vector<c10::IValue> probes;
    for (const std::vector<c10::IValue>& probe : outputs)
      probes.push_back(probe[first_list + i]);
    *list = *MakeOpaque(std::move(probes), reason, &templates[first_list + i]);
  }
  builder_.AddRegion(
      node->kind().toQualString(), std::move(program), std::move(recipes),
      std::move(templates), reason,
      Contains(node, {c10::prim::RaiseException, c10::prim::Print}),
      std::move(linear_weights));
  for (size_t i = 0; i < written.size(); ++i) {
    ProbedValue& target = *contents[written[i]];
    AITUNE_RETURN_IF_ERROR(
        functionalizer_.Write(target, new_values[i], /*tainted=*/true));
    AITUNE_RETURN_IF_ERROR(
        functionalizer_.PrepareWrite(target, /*separate_probes=*/true));
    for (size_t probe = 0; probe < outputs.size(); ++probe) {
      at::Tensor(target.tensor(probe))
          .copy_(outputs[probe][output_count + i].toTensor());
    }
    results.push_back(contents[written[i]]);
  }
  for (const size_t i : lists) results.push_back(contents[i]);
  for (size_t i = 0; i < output_count; ++i) {
    for (const size_t j : shared[i]) NoteSharing(*results[i], *results[j]);
  }
  return absl::OkStatus();
}

}  // namespace aitune::frontend
