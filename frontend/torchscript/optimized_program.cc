#include "frontend/torchscript/optimized_program.h"

#include <c10/util/Exception.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <string>
#include <utility>
#include <vector>

#include "frontend/torchscript/autocast_contexts.h"
#include "frontend/torchscript/call_stacks.h"
#include "frontend/torchscript/carried_writes.h"
#include "frontend/torchscript/copy_modules.h"
#include "frontend/torchscript/gradients.h"
#include "frontend/torchscript/inline_calls.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/model_state.h"
#include "frontend/torchscript/shared_submodules.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {

struct OptimizedProgram::Impl {
  mutable torch::jit::Module module;
  // For a model with state, the program that runs on `module`, the model's own:
  // a frozen copy would have attributes, and so a state, of its own.
  std::unique_ptr<torch::jit::GraphExecutor> on_own_state;
  bool takes_gradients = false;
};

OptimizedProgram::OptimizedProgram(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}
OptimizedProgram::~OptimizedProgram() = default;

absl::StatusOr<std::unique_ptr<OptimizedProgram>> OptimizedProgram::Make(
    const Model& model, const OptimizedProgramOptions& options) {
  // A module without the attribute `training` was frozen before.
  auto impl = std::make_unique<Impl>();
  impl->takes_gradients = TakesGradients(model.impl().bare_module);
  bool stays_as_it_is = impl->takes_gradients;
  AITUNE_RETURN_IF_ERROR(
      CatchExceptions(absl::StatusCode::kInternal, "TorchScript", [&] {
        stays_as_it_is |=
            !WhySubmodulesMustStayShared(model.impl().bare_module).empty();
        return absl::OkStatus();
      }));
  // Frozen parameters have no gradients, nor have operators for inference.
  const bool freeze = options.freeze && !stays_as_it_is &&
                      model.impl().bare_module.hasattr("training");
  auto make = [&](bool fold_numbers, bool optimize) {
    return CatchExceptions(absl::StatusCode::kInternal, "TorchScript", [&] {
      if (ModelState(model).exists()) {
        impl->module = model.impl().module();
        auto graph = impl->module.get_method("forward").graph()->copy();
        InlineCalls(*graph);
        MarkCarriedWrites(graph);
        MakeCastsOfContexts(graph);
        AnchorCallStacks(*graph);
        impl->on_own_state =
            std::make_unique<torch::jit::GraphExecutor>(graph, "forward");
        return absl::OkStatus();
      }
      // Another program on the same tensors: optimisation changes it in
      // place, also where it fails.
      impl->module = WithMarkedCarriedWrites(
          WithCastsOfContexts(CloneProgram(model.impl().module())));
      if (freeze) {
        impl->module = Freeze(impl->module, /*kept=*/{}, fold_numbers);
      }
      if (optimize)
        impl->module = torch::jit::optimize_for_inference(impl->module);
      AnchorCallStacks(*impl->module.get_method("forward").graph());
      return absl::OkStatus();
    });
  };
  struct Attempt {
    bool fold_numbers, optimize;
    const char* left_out;
  };
  // It freezes too.
  const bool optimize = options.optimize_for_inference && !stays_as_it_is;
  std::vector<Attempt> attempts;
  if (freeze)
    attempts.push_back({false, optimize, "freeze's folding of numbers"});
  if (optimize) attempts.push_back({freeze, false, "optimize_for_inference"});
  if (freeze && optimize)
    attempts.push_back({false, false,
                        "freeze's folding of numbers and "
                        "optimize_for_inference"});
  absl::Status status = make(freeze, optimize);
  const std::string failure(status.message());
  for (const Attempt& attempt : attempts) {
    if (status.ok()) break;
    status = make(attempt.fold_numbers, attempt.optimize);
    if (!status.ok()) continue;
    TORCH_WARN("TorchScript runs without ", attempt.left_out,
               ", which fails on this model: ", failure);
  }
  if (!status.ok()) return status;
  return std::unique_ptr<OptimizedProgram>(
      new OptimizedProgram(std::move(impl)));
}

absl::StatusOr<c10::IValue> OptimizedProgram::Run(
    const ValueList& inputs) const {
  c10::IValue result;
  const absl::Status status =
      CatchExceptions(absl::StatusCode::kInvalidArgument, "forward", [&] {
        torch::jit::Stack stack = inputs.values();
        RunInMode(
            impl_->takes_gradients, stack, [&](torch::jit::Stack& values) {
              if (impl_->on_own_state == nullptr) {
                values = {
                    impl_->module.get_method("forward")(std::move(values))};
                return;
              }
              values.insert(values.begin(), impl_->module._ivalue());
              const c10::FunctionSchema& schema =
                  impl_->module.get_method("forward").function().getSchema();
              schema.checkAndNormalizeInputs(values, {});
              impl_->on_own_state->run(values);
            });
        if (!stack.empty()) result = std::move(stack.front());
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return result;
}

}  // namespace aitune::frontend
