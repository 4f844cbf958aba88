// The implementation of Model, which holds the LibTorch module. Internal:
// includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_MODEL_INTERNAL_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_MODEL_INTERNAL_H_

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "frontend/torchscript/coded_weights.h"
#include "frontend/torchscript/input_spec.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/optimized_program.h"
#include "frontend/torchscript/submodule_calls.h"

namespace aitune::frontend {

struct Model::Impl {
  explicit Impl(torch::jit::Module m) : bare_module(std::move(m)) {}

  // The module with all its weights: makes those that are not made yet. May
  // throw LibTorch's exceptions. MakeWeights does the same and throws nothing.
  const torch::jit::Module& module() const {
    if (coded != nullptr) coded->Make().IgnoreError();
    return bare_module;
  }
  absl::Status MakeWeights() const;

  // The module in eval mode, for those who look at its program, and at its
  // tensors but not at the elements of weights: these may have no memory.
  torch::jit::Module bare_module;
  // What was loaded, if its hooks became a part of `bare_module`: the owner of
  // classes and functions that this still calls.
  std::optional<torch::jit::Module> hooked;
  // The weights of MakeLater, made or not; null if there are none.
  std::shared_ptr<CodedWeights> coded;
  std::vector<Parameter> parameters;
  std::optional<std::vector<InputSpec>> recorded;  // see RecordedInputs
  SubmoduleChanges changes;            // made by Disable and Substitute
  std::vector<ConstantTensor> beside;  // KeepBeside

  // The programs of RunEager and RunOptimized, compiled on first use.
  std::once_flag eager_once, optimized_once;
  std::unique_ptr<torch::jit::Code> eager;
  bool eager_takes_gradients = false;  // set with `eager`
  absl::Status eager_status;
  absl::StatusOr<std::unique_ptr<OptimizedProgram>> optimized;

  // Of forward; its first argument is the module itself.
  const c10::FunctionSchema& ForwardSchema() const {
    return bare_module.get_method("forward").function().getSchema();
  }

  // `self`, whose weights are made, the inputs and the defaults of missing
  // ones; kInvalidArgument when they do not fit forward's parameters. Errors as
  // MakeWeights.
  absl::StatusOr<torch::jit::Stack> MakeStack(const ValueList& inputs) const;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_MODEL_INTERNAL_H_
