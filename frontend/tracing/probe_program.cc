#include "frontend/tracing/probe_program.h"

#include <torch/csrc/jit/runtime/operator.h>

#include <exception>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "frontend/torchscript/fatal_operators.h"
#include "frontend/torchscript/inline_calls.h"
#include "frontend/torchscript/run_limits.h"
#include "frontend/trace/outlined_program.h"
#include "frontend/tracing/graph_program.h"
#include "frontend/tracing/probe_run.h"
#include "frontend/values/missing_kernel.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Operation;
using torch::jit::Operator;

// The operator that runs `original` as RunOrWiden does. LibTorch's interpreter
// runs operators that are registered: each is once, for the process.
c10::Symbol WideningOperator(const Operator& original) {
  static std::mutex mutex;
  static auto* const registered = new std::set<std::string>();
  const c10::FunctionSchema& schema = original.schema();
  // An overload a name: which one is meant is then no question.
  const std::string name = absl::StrCat(
      "aitune_widened::", absl::StrReplaceAll(schema.name(), {{"::", "_"}}),
      "_", schema.overload_name());
  const std::lock_guard<std::mutex> lock(mutex);
  if (registered->insert(name).second) {
    Operation widened =
        [run = original.getOperation(),
         count = static_cast<std::ptrdiff_t>(schema.arguments().size())](
            torch::jit::Stack& stack) mutable {
          std::vector<c10::IValue> values(stack.end() - count, stack.end());
          stack.erase(stack.end() - count, stack.end());
          RunOrWiden([&run](std::vector<c10::IValue>& inner) { run(inner); },
                     values);
          stack.insert(stack.end(), values.begin(), values.end());
        };
    torch::jit::registerOperator(Operator(
        name, schema.overload_name(), schema.arguments(), schema.returns(),
        std::move(widened), c10::AliasAnalysisKind::CONSERVATIVE));
  }
  return c10::Symbol::fromQualString(name);
}

void WidenCalls(Block* block) {
  const std::vector<Node*> nodes(block->nodes().begin(), block->nodes().end());
  for (Node* node : nodes) {
    for (Block* inner : node->blocks()) WidenCalls(inner);
    const Operator* called = node->maybeOperator();
    // What has no entry in LibTorch's dispatcher computes with no tensor.
    if (called == nullptr || !called->isC10Op() ||
        called->schema().is_mutable() || called->schema().is_vararg())
      continue;
    node->replaceWithNewSymbol(WideningOperator(*called));
    node->destroy();
  }
}

}  // namespace

std::shared_ptr<Graph> WithLimits(const std::shared_ptr<Graph>& graph) {
  std::shared_ptr<Graph> copy = graph->copy();
  bool any = HasCalls(copy->block());
  if (any) InlineCallsAndForks(*copy);
  const auto limit = [&any](Graph& limited) {
    any |= LimitLoops(limited.block());
    any |= LimitSizes(limited.block());
    any |= GuardFatalOperators(limited.block());
  };
  limit(*copy);
  ChangeOutlined(copy->block(), limit);
  return any ? copy : graph;
}

RecordedFunction MakeProbeProgram(std::shared_ptr<Graph> graph,
                                  RecordedFunction run) {
  return
      [graph = std::move(graph), run = std::move(run),
       widened = RecordedFunction()](std::vector<c10::IValue>& stack) mutable {
        if (!widened) {
          const std::vector<c10::IValue> arguments = stack;
          try {
            return run(stack);
          } catch (const std::exception& error) {
            if (!MissingDtype(TextOf(error))) throw;
          }
          stack = arguments;
          const std::shared_ptr<Graph> copy = graph->copy();
          WidenCalls(copy->block());
          ChangeOutlined(copy->block(),
                         [](Graph& body) { WidenCalls(body.block()); });
          widened = MakeGraphProgram(copy, "probe of a region").run;
        }
        widened(stack);
      };
}

}  // namespace aitune::frontend
