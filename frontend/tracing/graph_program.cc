#include "frontend/tracing/graph_program.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "frontend/torchscript/conversion.h"
#include "frontend/torchscript/interpreter_code.h"
#include "frontend/torchscript/model_state.h"

namespace aitune::frontend {
namespace {

RecordedFunction Interpret(const std::shared_ptr<torch::jit::Graph>& graph,
                           const std::string& name) {
  std::shared_ptr<torch::jit::Code> code = MakeCode(*graph, name);
  return [code](std::vector<c10::IValue>& stack) {
    torch::jit::InterpreterState(*code).run(stack);
  };
}

// A program on another device, with copies of the modules that it is given.
class ProgramOnDevice {
 public:
  ProgramOnDevice(std::shared_ptr<torch::jit::Graph> graph, std::string name,
                  c10::Device device)
      : graph_(std::move(graph)), name_(std::move(name)), device_(device) {}

  void Run(std::vector<c10::IValue>& stack) {
    RecordedFunction run;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const size_t inputs = graph_->inputs().size();
      for (size_t i = stack.size() - inputs; i < stack.size(); ++i) {
        if (stack[i].isModule()) stack[i] = CopyOf(stack[i]);
      }
      if (!run_) {
        const std::shared_ptr<torch::jit::Graph> moved = graph_->copy();
        MoveTo(*moved, device_);
        run_ = Interpret(moved, name_);
      }
      run = run_;
    }
    run(stack);
  }

 private:
  struct Copy {
    torch::jit::Module module;
    int64_t restores;  // of the original, when it was copied
  };

  // Made once, and again when the state of the original was restored: then the
  // copy's is no longer its own, nor that of constants which the program
  // writes.
  c10::IValue CopyOf(const c10::IValue& module) {
    const auto object = module.toObject();
    const int64_t restores = CountRestores(*object);
    auto found = copies_.find(object);
    if (found != copies_.end() && found->second.restores != restores) {
      copies_.erase(found);
      found = copies_.end();
      run_ = nullptr;
    }
    if (found == copies_.end()) {
      // Of its attributes: a graph to be recorded has no calls of methods left.
      found = copies_
                  .emplace(object,
                           Copy{torch::jit::Module(object).deepcopy(device_),
                                restores})
                  .first;
    }
    return found->second.module._ivalue();
  }

  const std::shared_ptr<torch::jit::Graph> graph_;
  const std::string name_;
  const c10::Device device_;
  std::mutex mutex_;
  RecordedFunction run_;  // made at the first call
  std::map<c10::intrusive_ptr<c10::ivalue::Object>, Copy> copies_;
};

}  // namespace

RecordedProgram MakeGraphProgram(std::shared_ptr<torch::jit::Graph> graph,
                                 const std::string& name) {
  RecordedProgram program;
  program.run = Interpret(graph, name);
  program.on_device = [graph = std::move(graph), name](c10::Device device) {
    const auto there = std::make_shared<ProgramOnDevice>(graph, name, device);
    return [there](std::vector<c10::IValue>& stack) { there->Run(stack); };
  };
  return program;
}

}  // namespace aitune::frontend
