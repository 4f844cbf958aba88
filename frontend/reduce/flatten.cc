// FlattenModel: a model's forward without submodules and attributes.
#include <c10/core/GradMode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/lower_tuples.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/reduce/program.h"
#include "frontend/torchscript/autocast_contexts.h"
#include "frontend/torchscript/inline_calls.h"
#include "frontend/torchscript/model_bytes.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::reduce {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

// The objects that values of the graph hold.
using Objects = std::map<const Value*, c10::IValue>;

// Replaces reads of attributes of `objects` by constants and removes writes.
absl::Status ResolveAttributes(Block* block, torch::jit::Graph& graph,
                               Objects& objects, std::vector<Node*>& dead) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks())
      AITUNE_RETURN_IF_ERROR(ResolveAttributes(inner, graph, objects, dead));
    if (node->kind() == c10::prim::SetAttr) {
      dead.push_back(node);
      continue;
    }
    if (node->kind() != c10::prim::GetAttr) continue;
    const auto object = objects.find(node->input());
    if (object == objects.end()) continue;
    const std::string name = node->s(c10::attr::name);
    c10::IValue value = object->second.toObject()->getAttr(name);
    dead.push_back(node);
    if (value.isObject()) {
      objects[node->output()] = value;
      continue;
    }
    if (value.isTensor() && value.toTensor().defined())
      value = value.toTensor().detach();
    const torch::jit::WithInsertPoint guard(node);
    const std::optional<Value*> constant =
        torch::jit::tryInsertConstant(graph, value);
    if (!constant)
      return absl::UnimplementedError(
          absl::StrCat("the model cannot be reduced: its attribute ", name,
                       " cannot be a constant of a TorchScript graph"));
    node->output()->replaceAllUsesWith(*constant);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<torch::jit::Graph>> FlatGraph(
    torch::jit::Module module) {
  module = frontend::WithCastsOfContexts(module);
  // A module without the attribute `training` was frozen before.
  if (module.hasattr("training")) {
    // What cannot be frozen keeps its attributes, which are resolved below.
    frontend::CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
      module = frontend::Freeze(module, /*kept=*/{},
                                /*fold_numbers=*/false);
      return absl::OkStatus();
    }).IgnoreError();
  }
  std::shared_ptr<torch::jit::Graph> graph =
      module.get_method("forward").graph()->copy();
  frontend::InlineCallsAndForks(*graph);
  Objects objects = {{graph->inputs()[0], module._ivalue()}};
  std::vector<Node*> dead;
  AITUNE_RETURN_IF_ERROR(
      ResolveAttributes(graph->block(), *graph, objects, dead));
  while (!dead.empty()) {
    if (std::any_of(dead.back()->outputs().begin(),
                    dead.back()->outputs().end(),
                    [](const Value* output) { return output->hasUses(); }))
      break;
    dead.back()->destroy();
    dead.pop_back();
  }
  torch::jit::LowerSimpleTuples(graph);
  torch::jit::EliminateDeadCode(graph);
  if (!dead.empty() || graph->inputs()[0]->hasUses())
    return absl::UnimplementedError(
        "the model cannot be reduced: it uses a submodule as a value, or calls "
        "a method that is bound at run time");
  graph->eraseInput(0);
  graph->lint();
  return graph;
}

// Makes a constant of an input.
absl::Status BindInput(Program& program, size_t input) {
  torch::jit::Graph& graph = *program.graph;
  const torch::jit::WithInsertPoint guard(*graph.nodes().begin());
  const std::optional<Value*> constant =
      torch::jit::tryInsertConstant(graph, program.inputs[input]);
  if (!constant)
    return absl::UnimplementedError(
        absl::StrCat("the model cannot be reduced: the default of argument ",
                     input, " cannot be a constant of a TorchScript graph"));
  graph.inputs()[input]->replaceAllUsesWith(*constant);
  return absl::OkStatus();
}

// Saved and loaded again: call stacks of inlined nodes name functions that end
// with the module they are from.
absl::StatusOr<Program> Reloaded(Program program) {
  AITUNE_ASSIGN_OR_RETURN(const std::string bytes, ProgramBytes(program));
  const absl::Status status = frontend::CatchExceptions(
      absl::StatusCode::kUnimplemented, "loading the flat program", [&] {
        std::istringstream stream(bytes);
        program.graph = torch::jit::load(stream, c10::Device(c10::kCPU))
                            .get_method("forward")
                            .graph()
                            ->copy();
        program.graph->eraseInput(0);
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return program;
}

}  // namespace

absl::StatusOr<Program> FlattenModel(const frontend::Model& model,
                                     const frontend::ModelInputs& inputs,
                                     uint64_t seed) {
  Program program;
  AITUNE_ASSIGN_OR_RETURN(const frontend::ValueList arguments,
                          frontend::TypicalArguments(inputs, seed));
  program.inputs = arguments.values();
  AITUNE_ASSIGN_OR_RETURN(const frontend::SymbolAssignment symbols,
                          frontend::AssignSymbols(inputs.specs));
  if (!symbols.symbols.empty()) program.specs = inputs.specs;
  AITUNE_ASSIGN_OR_RETURN(const std::string bytes, frontend::ModelBytes(model));
  const absl::Status status = frontend::CatchExceptions(
      absl::StatusCode::kInvalidArgument, "flattening the model", [&] {
        const c10::NoGradGuard no_grad;
        std::istringstream stream(bytes);
        const torch::jit::Module module =
            torch::jit::load(stream, c10::Device(c10::kCPU));
        // Arguments that were not given have their defaults.
        const c10::FunctionSchema& schema =
            module.get_method("forward").function().getSchema();
        for (size_t i = program.inputs.size() + 1;
             i < schema.arguments().size(); ++i) {
          const std::optional<c10::IValue>& value =
              schema.arguments()[i].default_value();
          if (!value)
            return absl::InvalidArgumentError(absl::StrCat(
                "no value for the argument ", schema.arguments()[i].name()));
          program.inputs.push_back(*value);
        }
        AITUNE_ASSIGN_OR_RETURN(program.graph, FlatGraph(module));
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  for (size_t i = arguments.values().size(); i < program.inputs.size(); ++i)
    AITUNE_RETURN_IF_ERROR(BindInput(program, i));
  while (program.inputs.size() > arguments.values().size()) {
    program.graph->eraseInput(program.inputs.size() - 1);
    program.inputs.pop_back();
  }
  return Reloaded(program);
}

}  // namespace aitune::reduce
