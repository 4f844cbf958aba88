#include "frontend/tracing/graph_program.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <map>
#include <mutex>
#include <utility>

#include "frontend/torchscript/conversion.h"
#include "frontend/torchscript/interpreter_code.h"

namespace aitune::frontend {
namespace {

RecordedFunction Interpret(const std::shared_ptr<torch::jit::Graph>& graph,
                           const std::string& name) {
  std::shared_ptr<torch::jit::Code> code = MakeCode(*graph, name);
  return [code](std::vector<c10::IValue>& stack) {
    torch::jit::InterpreterState(*code).run(stack);
  };
}

// Copies of the modules that a program is given, each made once.
class ModulesOnDevice {
 public:
  explicit ModulesOnDevice(c10::Device device) : device_(device) {}

  c10::IValue Get(const c10::IValue& module) {
    const auto object = module.toObject();
    const std::lock_guard<std::mutex> lock(mutex_);
    auto found = copies_.find(object);
    if (found == copies_.end()) {
      // Of its attributes: a graph to be recorded has no calls of methods left.
      found =
          copies_.emplace(object, torch::jit::Module(object).deepcopy(device_))
              .first;
    }
    return found->second._ivalue();
  }

 private:
  const c10::Device device_;
  std::mutex mutex_;
  std::map<c10::intrusive_ptr<c10::ivalue::Object>, torch::jit::Module> copies_;
};

}  // namespace

RecordedProgram MakeGraphProgram(std::shared_ptr<torch::jit::Graph> graph,
                                 const std::string& name) {
  RecordedProgram program;
  program.run = Interpret(graph, name);
  program.on_device = [graph = std::move(graph), name](c10::Device device) {
    const std::shared_ptr<torch::jit::Graph> moved = graph->copy();
    MoveTo(*moved, device);
    auto modules = std::make_shared<ModulesOnDevice>(device);
    return [run = Interpret(moved, name), modules,
            inputs = moved->inputs().size()](std::vector<c10::IValue>& stack) {
      for (size_t i = stack.size() - inputs; i < stack.size(); ++i) {
        if (stack[i].isModule()) stack[i] = modules->Get(stack[i]);
      }
      run(stack);
    };
  };
  return program;
}

}  // namespace aitune::frontend
