#include "frontend/check/run_guard.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/fatal_operators.h"
#include "frontend/torchscript/inline_calls.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/run_limits.h"
#include "frontend/values/gpu.h"
#include "frontend/values/pytree.h"

namespace aitune::frontend {
namespace {

bool HasEmpty(const ValueList& arguments) {
  const std::vector<at::Tensor> tensors = TensorLeaves(arguments);
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const at::Tensor& tensor) {
                       return tensor.defined() && tensor.numel() == 0;
                     });
}

}  // namespace

struct RunGuard::Copy {
  Model model;
  FatalArguments tried;  // the arguments that it is to run
};

RunGuard::RunGuard(const Model& model, const Device& device) : device_(device) {
  const torch::jit::Module& module = model.impl().module();
  const std::shared_ptr<torch::jit::Graph> inlined =
      module.get_method("forward").graph()->copy();
  InlineCallsAndForks(*inlined);
  const FatalArguments tried = LimitLoops(inlined->block())
                                   ? FatalArguments::kOther
                                   : FatalArgumentsIn(inlined->block());
  if (tried == FatalArguments::kNone) return;
  // With the same tensors.
  torch::jit::Module copy = module.clone(/*inplace=*/true);
  const std::shared_ptr<torch::jit::Graph> graph =
      copy.get_method("forward").graph();
  InlineCallsAndForks(*graph);
  LimitLoops(graph->block());
  GuardFatalOperators(graph->block());
  absl::StatusOr<Model> made = model.WithProgram(std::move(copy));
  if (!made.ok())
    throw std::runtime_error(std::string(made.status().message()));
  copy_ = std::make_unique<Copy>(Copy{*std::move(made), tried});
}

RunGuard::~RunGuard() = default;

absl::Status RunGuard::Try(const ValueList& arguments, double seconds) const {
  if (copy_ == nullptr ||
      (copy_->tried == FatalArguments::kEmpty && !HasEmpty(arguments)))
    return absl::OkStatus();
  ForgetFatalCall();
  const RunLimits limits(seconds, /*limits_sizes=*/false);
  // What the model raises the check finds by itself. LibTorch's optimised
  // programs are not eager: its fuser's kernels on a GPU read where they may
  // not if a tensor that is concatenated has no elements (PyTorch 2.11).
  copy_->model
      .RunEager(device_.is_gpu() ? ToDevice(arguments, device_)
                                 : arguments.Clone())
      .IgnoreError();
  if (!FatalCall().empty())
    return absl::FailedPreconditionError(absl::StrCat(
        "LibTorch's ", FatalCall(), ", so that nothing can be compared"));
  if (!limits.IsLate()) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("a loop of the model goes on after ", seconds,
                   " s of eager's for it, so that nothing can be compared"));
}

}  // namespace aitune::frontend
