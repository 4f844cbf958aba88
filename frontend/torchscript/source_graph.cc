#include "frontend/torchscript/source_graph.h"

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "frontend/torchscript/inline_calls.h"

namespace aitune::frontend {

std::shared_ptr<torch::jit::Graph> GraphOfSource(const char* source,
                                                 const char* function) {
  static std::mutex mutex;
  static auto* const units =
      new std::map<std::string, std::shared_ptr<torch::jit::CompilationUnit>>();
  static auto* const graphs =
      new std::map<std::pair<std::string, std::string>,
                   std::shared_ptr<torch::jit::Graph>>();
  const std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<torch::jit::Graph>& graph = (*graphs)[{source, function}];
  if (graph != nullptr) return graph;
  std::shared_ptr<torch::jit::CompilationUnit>& unit = (*units)[source];
  if (unit == nullptr) {
    unit = std::make_shared<torch::jit::CompilationUnit>();
    unit->define(std::nullopt, source, torch::jit::nativeResolver(), nullptr);
  }
  graph =
      torch::jit::toGraphFunction(unit->get_function(function)).graph()->copy();
  InlineCalls(*graph);
  torch::jit::EliminateDeadCode(graph);
  return graph;
}

}  // namespace aitune::frontend
