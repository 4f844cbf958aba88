#include "frontend/torchscript/submodule_times.h"

#include <torch/csrc/jit/runtime/custom_operator.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "frontend/torchscript/autocast_contexts.h"
#include "frontend/torchscript/gradients.h"
#include "frontend/torchscript/input_queries.h"
#include "frontend/torchscript/interpreter_code.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/model_state.h"
#include "frontend/torchscript/submodule_calls.h"
#include "frontend/values/pytree.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Clock = std::chrono::steady_clock;

// The clock of one run: the time until the next mark is the current place's.
struct Recorder {
  std::vector<double> milliseconds;  // by place
  int64_t place = -1;                // -1: none
  Clock::time_point since;

  void Mark(int64_t next) {
    const Clock::time_point now = Clock::now();
    if (place >= 0)
      milliseconds[place] +=
          std::chrono::duration<double, std::milli>(now - since).count();
    place = next;
    since = Clock::now();
  }
};
thread_local Recorder* recorder = nullptr;

// The operator that marks a place in a program.
const torch::jit::RegisterOperators& MarkOperator() {
  static const auto* const registered =
      new torch::jit::RegisterOperators({torch::jit::Operator(
          "aitune::mark(int place) -> ()",
          [](torch::jit::Stack& stack) {
            const int64_t place = torch::jit::pop(stack).toInt();
            if (recorder != nullptr) recorder->Mark(place);
          },
          c10::AliasAnalysisKind::CONSERVATIVE)});
  return *registered;
}

struct MarkedProgram {
  std::shared_ptr<torch::jit::Graph> graph;
  std::vector<std::string> places;  // paths, as marks number them
};

void InsertMark(torch::jit::Graph& graph, torch::jit::Node* before,
                int64_t place) {
  const torch::jit::WithInsertPoint guard(before);
  torch::jit::Value* number = graph.insertConstant(place);
  graph.insertNode(graph.create(c10::Symbol::fromQualString("aitune::mark"),
                                {number}, /*num_outputs=*/0));
}

MarkedProgram MarkPlaces(const torch::jit::Module& module) {
  MarkOperator();
  MarkedProgram program;
  program.graph = module.get_method("forward").graph()->copy();
  InlineSubmodules(*program.graph);
  MakeCastsOfContexts(program.graph);
  std::map<std::string, int64_t> numbers;
  int64_t current = -1;
  std::vector<torch::jit::Node*> nodes(program.graph->nodes().begin(),
                                       program.graph->nodes().end());
  for (torch::jit::Node* node : nodes) {
    if (node->kind() == c10::prim::Constant) continue;
    std::string place = SubmoduleOf(*node);
    const auto [found, added] = numbers.emplace(place, program.places.size());
    if (added) program.places.push_back(std::move(place));
    if (found->second == current) continue;
    current = found->second;
    InsertMark(*program.graph, node, current);
  }
  InsertMark(*program.graph, program.graph->return_node(), -1);
  return program;
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

// The median over `runs` of each submodule that has a place in it.
std::vector<SubmoduleTime> Summarize(
    const torch::jit::Module& module, const std::vector<std::string>& places,
    const std::vector<std::vector<double>>& runs) {
  std::map<std::string, std::string> types;
  for (const auto& named : module.named_modules())
    types[named.name] =
        named.value.type()->name() ? named.value.type()->name()->name() : "";
  std::vector<SubmoduleTime> list;
  for (const auto& [path, type] : types) {
    std::vector<double> milliseconds;
    bool found = path.empty();
    for (const std::vector<double>& run : runs) {
      double& sum = milliseconds.emplace_back(0);
      for (size_t i = 0; i < places.size(); ++i) {
        if (!path.empty() && !IsWithin(places[i], path)) continue;
        sum += run[i];
        found = true;
      }
    }
    if (!found) continue;
    SubmoduleTime& time = list.emplace_back();
    time.path = path;
    time.type = path.empty() ? "" : type;
    time.milliseconds = Median(std::move(milliseconds));
  }
  const double total = list.empty() ? 0 : list.front().milliseconds;
  for (SubmoduleTime& time : list)
    time.share = total > 0 ? time.milliseconds / total : 0;
  std::stable_sort(list.begin(), list.end(),
                   [](const SubmoduleTime& a, const SubmoduleTime& b) {
                     if (a.path.empty() != b.path.empty())
                       return a.path.empty();
                     return a.share > b.share;
                   });
  return list;
}

ValueList CopyTensors(const ValueList& values) {
  std::vector<c10::IValue> copies;
  for (const c10::IValue& value : values.values()) {
    copies.push_back(MapTensors(
        value, [](const at::Tensor& tensor, int) { return tensor.clone(); }));
  }
  return ValueList(std::move(copies));
}

}  // namespace

absl::StatusOr<std::vector<SubmoduleTime>> TimeSubmodules(
    const Model& model, const ValueList& arguments, int repeats) {
  torch::jit::Stack stack;
  MarkedProgram program;
  Recorder times;
  std::vector<std::vector<double>> runs;
  const absl::Status status = CatchExceptions(
      absl::StatusCode::kInternal, "forward", [&]() -> absl::Status {
        const InputQueries queries = FindInputQueries(model);
        const bool changes_arguments = !queries.write.empty() ||
                                       !queries.container_write.empty() ||
                                       !queries.own_arguments.empty();
        program = MarkPlaces(model.impl().bare_module);
        const auto code = MakeCode(*program.graph, "forward");
        ModelState state(model);
        const ScopedModelState restore(state);
        const bool gradients = TakesGradients(*program.graph);
        for (int run = 0; run <= repeats; ++run) {
          state.Restore();
          if (run == 0 || changes_arguments) {
            stack.clear();
            AITUNE_ASSIGN_OR_RETURN(
                stack, model.impl().MakeStack(CopyTensors(arguments)));
          }
          times.milliseconds.assign(program.places.size(), 0);
          torch::jit::Stack inputs = stack;
          recorder = &times;
          try {
            RunInMode(gradients, inputs, [&](torch::jit::Stack& values) {
              torch::jit::InterpreterState(*code).run(values);
            });
          } catch (...) {
            recorder = nullptr;
            throw;
          }
          recorder = nullptr;
          // The first run warms up.
          if (run > 0 || repeats <= 0) runs.push_back(times.milliseconds);
        }
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return Summarize(model.impl().bare_module, program.places, runs);
}

}  // namespace aitune::frontend
