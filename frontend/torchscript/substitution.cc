#include "frontend/torchscript/substitution.h"

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/frontend/ir_emitter.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/ir/ir.h>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/code_check.h"
#include "frontend/torchscript/inline_calls.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

struct Substitution {
  std::string source;
  std::shared_ptr<torch::jit::Graph> graph;
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, Substitution> substitutions;
};
Registry& GetRegistry() {
  static auto* const registry = new Registry;
  return *registry;
}

std::map<std::string, Substitution> InForce() {
  Registry& registry = GetRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  return registry.substitutions;
}

void Find(torch::jit::Block* block,
          const std::map<std::string, Substitution>& substitutions,
          std::vector<torch::jit::Node*>& found) {
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks())
      Find(inner, substitutions, found);
    if (substitutions.count(node->kind().toQualString()) > 0)
      found.push_back(node);
  }
}

}  // namespace

absl::Status SubstituteInGraph(const std::string& op,
                               const std::string& source) {
  Substitution substitution{source, nullptr};
  if (!source.empty()) {
    AITUNE_RETURN_IF_ERROR(
        CheckCode(absl::StrCat("the replacement of ", op), source));
    const absl::Status status = CatchExceptions(
        absl::StatusCode::kInvalidArgument,
        absl::StrCat("the replacement of ", op), [&] {
          torch::jit::CompilationUnit unit;
          const std::vector<torch::jit::Function*> functions =
              unit.define(std::nullopt, source, torch::jit::nativeResolver(),
                          /*self=*/nullptr);
          if (functions.size() != 1)
            return absl::InvalidArgumentError(
                absl::StrCat("the replacement of ", op, " is ",
                             functions.size(), " functions instead of one"));
          functions[0]->ensure_defined();
          substitution.graph =
              torch::jit::toGraphFunction(*functions[0]).graph()->copy();
          InlineCalls(*substitution.graph);
          return absl::OkStatus();
        });
    if (!status.ok()) return status;
  }
  Registry& registry = GetRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  if (source.empty()) {
    registry.substitutions.erase(op);
  } else {
    registry.substitutions[op] = std::move(substitution);
  }
  return absl::OkStatus();
}

absl::Status ApplySubstitutions(torch::jit::Graph& graph) {
  const std::map<std::string, Substitution> substitutions = InForce();
  if (substitutions.empty()) return absl::OkStatus();
  std::vector<torch::jit::Node*> calls;
  Find(graph.block(), substitutions, calls);
  for (torch::jit::Node* call : calls) {
    const std::string op = call->kind().toQualString();
    torch::jit::Graph& replacement = *substitutions.at(op).graph;
    if (replacement.inputs().size() != call->inputs().size())
      return absl::InvalidArgumentError(absl::StrCat(
          "the replacement of ", op, " takes ", replacement.inputs().size(),
          " arguments, the operator has ", call->inputs().size()));
    for (size_t i = 0; i < call->inputs().size(); ++i) {
      const c10::TypePtr& given = call->inputs()[i]->type();
      const c10::TypePtr& taken = replacement.inputs()[i]->type();
      if (!given->isSubtypeOf(*taken))
        return absl::InvalidArgumentError(
            absl::StrCat("the replacement of ", op, " takes a ",
                         taken->annotation_str(), " as argument ", i,
                         ", the operator has a ", given->annotation_str()));
    }
    const torch::jit::WithInsertPoint guard(call);
    const std::vector<torch::jit::Value*> results =
        torch::jit::insertGraph(graph, replacement, call->inputs());
    if (results.size() != call->outputs().size())
      return absl::InvalidArgumentError(
          absl::StrCat("the replacement of ", op, " gives ", results.size(),
                       " results, the operator ", call->outputs().size()));
    for (size_t i = 0; i < results.size(); ++i) {
      const c10::TypePtr& given = results[i]->type();
      const c10::TypePtr& wanted = call->outputs()[i]->type();
      if (!given->isSubtypeOf(*wanted))
        return absl::InvalidArgumentError(absl::StrCat(
            "the replacement of ", op, " gives a ", given->annotation_str(),
            " as result ", i, ", the operator a ", wanted->annotation_str()));
      call->outputs()[i]->replaceAllUsesWith(results[i]);
    }
    call->destroy();
  }
  return absl::OkStatus();
}

std::map<std::string, std::string> Substitutions() {
  std::map<std::string, std::string> sources;
  for (const auto& [op, substitution] : InForce())
    sources[op] = substitution.source;
  return sources;
}

std::string SubstitutionsText() {
  std::string text;
  for (const auto& [op, source] : Substitutions())
    absl::StrAppend(&text, op, " ", source.size(), ":", source, "\n");
  return text;
}

absl::StatusOr<std::map<std::string, std::string>> SubstitutionsOf(
    const Model& model) {
  std::map<std::string, std::string> sources;
  const std::map<std::string, Substitution> substitutions = InForce();
  if (substitutions.empty()) return sources;
  const absl::Status status = CatchExceptions(
      absl::StatusCode::kInvalidArgument, "looking for replacements", [&] {
        const auto graph =
            model.impl().bare_module.get_method("forward").graph()->copy();
        InlineCalls(*graph);
        std::vector<torch::jit::Node*> calls;
        Find(graph->block(), substitutions, calls);
        for (const torch::jit::Node* call : calls) {
          const std::string op = call->kind().toQualString();
          sources[op] = substitutions.at(op).source;
        }
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return sources;
}

}  // namespace aitune::frontend
