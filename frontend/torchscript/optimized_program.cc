#include "frontend/torchscript/optimized_program.h"

#include <c10/core/InferenceMode.h>

#include <utility>

#include "frontend/torchscript/call_stacks.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/torch_util.h"

namespace aitune::frontend {

struct OptimizedProgram::Impl {
  mutable torch::jit::Module module;
};

OptimizedProgram::OptimizedProgram(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}
OptimizedProgram::~OptimizedProgram() = default;

absl::StatusOr<std::unique_ptr<OptimizedProgram>> OptimizedProgram::Make(
    const Model& model, const OptimizedProgramOptions& options) {
  auto impl = std::make_unique<Impl>();
  const absl::Status status =
      CatchExceptions(absl::StatusCode::kInternal, "TorchScript", [&] {
        // Another program on the same tensors: optimisation changes it in
        // place.
        impl->module = model.impl().module.clone(/*inplace=*/true);
        // A module without the attribute `training` was frozen before.
        if (options.freeze && impl->module.hasattr("training"))
          impl->module = torch::jit::freeze(impl->module);
        if (options.optimize_for_inference)
          impl->module = torch::jit::optimize_for_inference(impl->module);
        AnchorCallStacks(*impl->module.get_method("forward").graph());
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return std::unique_ptr<OptimizedProgram>(
      new OptimizedProgram(std::move(impl)));
}

absl::StatusOr<c10::IValue> OptimizedProgram::Run(
    const ValueList& inputs) const {
  c10::IValue result;
  const absl::Status status =
      CatchExceptions(absl::StatusCode::kInternal, "forward", [&] {
        const c10::InferenceMode inference;
        result = impl_->module.get_method("forward")(inputs.values());
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return result;
}

}  // namespace aitune::frontend
