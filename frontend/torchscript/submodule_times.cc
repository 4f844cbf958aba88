#include "frontend/torchscript/submodule_times.h"

#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/torch_util.h"

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

struct Place {
  std::vector<std::string> path;   // names from the model down
  std::vector<std::string> types;  // of each
};

Place PlaceOf(torch::jit::Node* node) {
  Place place;
  const auto stack = node->callstack();
  if (!stack) return place;
  for (const auto& entry : (*stack)->vec()) {
    const auto& instance = std::get<2>(entry);
    if (!instance || instance->instance_name().empty() ||
        instance->instance_name() == "SELF")
      continue;
    place.path.push_back(instance->instance_name());
    const auto type = instance->class_type();
    place.types.push_back(type && type->name() ? type->name()->name()
                                               : std::string());
  }
  return place;
}

struct MarkedProgram {
  std::shared_ptr<torch::jit::Graph> graph;
  std::vector<Place> places;  // as marks number them
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
  torch::jit::Inline(*program.graph);
  std::map<std::vector<std::string>, int64_t> numbers;
  int64_t current = -1;
  std::vector<torch::jit::Node*> nodes(program.graph->nodes().begin(),
                                       program.graph->nodes().end());
  for (torch::jit::Node* node : nodes) {
    if (node->kind() == c10::prim::Constant) continue;
    Place place = PlaceOf(node);
    const auto [found, added] =
        numbers.emplace(place.path, program.places.size());
    if (added) program.places.push_back(std::move(place));
    if (found->second == current) continue;
    current = found->second;
    InsertMark(*program.graph, node, current);
  }
  InsertMark(*program.graph, program.graph->return_node(), -1);
  return program;
}

std::vector<SubmoduleTime> Summarize(const std::vector<Place>& places,
                                     const std::vector<double>& milliseconds,
                                     int repeats) {
  std::map<std::string, SubmoduleTime> times;
  times[""];
  for (size_t i = 0; i < places.size(); ++i) {
    std::string path;
    times[path].milliseconds += milliseconds[i] / repeats;
    for (size_t depth = 0; depth < places[i].path.size(); ++depth) {
      absl::StrAppend(&path, depth == 0 ? "" : ".", places[i].path[depth]);
      SubmoduleTime& time = times[path];
      time.path = path;
      time.type = places[i].types[depth];
      time.milliseconds += milliseconds[i] / repeats;
    }
  }
  const double total = times[""].milliseconds;
  std::vector<SubmoduleTime> list;
  for (auto& [path, time] : times) {
    time.share = total > 0 ? time.milliseconds / total : 0;
    list.push_back(std::move(time));
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const SubmoduleTime& a, const SubmoduleTime& b) {
                     if (a.path.empty() != b.path.empty())
                       return a.path.empty();
                     return a.share > b.share;
                   });
  return list;
}

}  // namespace

absl::StatusOr<std::vector<SubmoduleTime>> TimeSubmodules(
    const Model& model, const ValueList& arguments, int repeats) {
  absl::StatusOr<torch::jit::Stack> stack = model.impl().MakeStack(arguments);
  if (!stack.ok()) return stack.status();
  MarkedProgram program;
  Recorder times;
  const absl::Status status =
      CatchExceptions(absl::StatusCode::kInternal, "forward", [&] {
        program = MarkPlaces(model.impl().module);
        const torch::jit::Code code(program.graph, "forward");
        const c10::InferenceMode inference;
        for (int run = 0; run <= repeats; ++run) {
          // The first run warms up.
          if (run <= 1) times.milliseconds.assign(program.places.size(), 0);
          torch::jit::Stack inputs = *stack;
          recorder = &times;
          try {
            torch::jit::InterpreterState(code).run(inputs);
          } catch (...) {
            recorder = nullptr;
            throw;
          }
          recorder = nullptr;
        }
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return Summarize(program.places, times.milliseconds, std::max(repeats, 1));
}

}  // namespace aitune::frontend
