#include "frontend/tracing/graph_program.h"

#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "frontend/torchscript/conversion.h"
#include "frontend/torchscript/gradients.h"
#include "frontend/torchscript/interpreter_code.h"
#include "frontend/torchscript/model_state.h"
#include "frontend/torchscript/state_copy.h"
#include "frontend/torchscript/state_writes.h"
#include "frontend/trace/outlined_program.h"

namespace aitune::frontend {
namespace {

RecordedFunction Interpret(const std::shared_ptr<torch::jit::Graph>& graph,
                           const std::string& name) {
  std::shared_ptr<torch::jit::Code> code = MakeCode(*graph, name);
  if (TakesGradients(*graph)) {
    return [code](std::vector<c10::IValue>& stack) {
      RunInMode(/*gradients=*/true, stack, [&](torch::jit::Stack& values) {
        torch::jit::InterpreterState(*code).run(values);
      });
    };
  }
  return [code](std::vector<c10::IValue>& stack) {
    torch::jit::InterpreterState(*code).run(stack);
  };
}

// A program on another device, with copies of the modules that it is given.
class ProgramOnDevice {
 public:
  ProgramOnDevice(std::shared_ptr<torch::jit::Graph> graph, std::string name,
                  c10::Device device)
      : graph_(std::move(graph)),
        name_(std::move(name)),
        device_(device),
        takes_gradients_(TakesGradients(*graph_)) {}

  void Run(std::vector<c10::IValue>& stack) {
    RecordedFunction run;
    {
      // What is copied here may be recorded.
      const c10::InferenceMode inference(!takes_gradients_);
      const std::lock_guard<std::mutex> lock(mutex_);
      const size_t inputs = graph_->inputs().size();
      for (size_t i = stack.size() - inputs; i < stack.size(); ++i) {
        if (stack[i].isModule()) stack[i] = CopyOf(stack[i]);
      }
      if (!run_) {
        const std::shared_ptr<torch::jit::Graph> moved = graph_->copy();
        MoveTo(*moved, device_);
        ChangeOutlined(moved->block(), [this](torch::jit::Graph& body) {
          MoveTo(body, device_);
        });
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
    std::unique_ptr<const StateWrites> writes;  // from the first restore on
  };

  // Made once. Where the state of the original was restored since, the copy's
  // is no longer its own and is copied again, and so are constants, which the
  // program may write.
  c10::IValue CopyOf(const c10::IValue& module) {
    const auto object = module.toObject();
    const int64_t restores = CountRestores(*object);
    auto found = copies_.find(object);
    if (found == copies_.end()) {
      // Of its attributes: a graph to be recorded has no calls of methods left.
      found = copies_
                  .emplace(object,
                           Copy{torch::jit::Module(object).deepcopy(device_),
                                restores, nullptr})
                  .first;
    }
    Copy& copy = found->second;
    if (copy.restores != restores) {
      // Tensors that a run made can only be written in its mode.
      const c10::InferenceMode inference;
      if (copy.writes == nullptr)
        copy.writes =
            std::make_unique<const StateWrites>(torch::jit::Module(object));
      StateCopy(*copy.writes, device_).Copy(*object, *copy.module._ivalue());
      if (!copy.writes->constants().empty()) run_ = nullptr;
      copy.restores = restores;
    }
    return copy.module._ivalue();
  }

  const std::shared_ptr<torch::jit::Graph> graph_;
  const std::string name_;
  const c10::Device device_;
  const bool takes_gradients_;
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
