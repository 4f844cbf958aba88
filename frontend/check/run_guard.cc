#include "frontend/check/run_guard.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/fatal_operators.h"
#include "frontend/torchscript/inline_forks.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/values/gpu.h"
#include "frontend/values/pytree.h"

namespace aitune::frontend {
namespace {

using Clock = std::chrono::steady_clock;

// Of the guarded run of this thread.
thread_local Clock::time_point deadline = Clock::time_point::max();
thread_local bool is_late = false;

constexpr const char* kLookAtTheClock = "aitune::look_at_the_clock";

// Raises once the deadline has passed.
void LookAtTheClock(torch::jit::Stack&) {
  if (Clock::now() < deadline) return;
  is_late = true;
  throw std::runtime_error("the time of a check is over");
}

void Register() {
  static const auto* const registered =
      new torch::jit::RegisterOperators({torch::jit::Operator(
          absl::StrCat(kLookAtTheClock, "() -> ()"), LookAtTheClock,
          c10::AliasAnalysisKind::CONSERVATIVE)});
  (void)registered;
}

// Puts a look at the clock into each loop.
void GuardLoops(torch::jit::Block* block) {
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks()) GuardLoops(inner);
    if (node->kind() != c10::prim::Loop) continue;
    torch::jit::Block* body = node->blocks()[0];
    torch::jit::Node* look = body->owningGraph()->create(
        c10::Symbol::fromQualString(kLookAtTheClock), /*num_outputs=*/0);
    body->prependNode(look);
  }
}

// Forks too: a loop in one would run on a thread without a deadline.
void InlineAll(torch::jit::Graph& graph) {
  torch::jit::Inline(graph);
  InlineForks(graph);
  torch::jit::Inline(graph);
}

bool HasLoop(torch::jit::Block* block) {
  auto nodes = block->nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](torch::jit::Node* node) {
    return node->kind() == c10::prim::Loop ||
           std::any_of(node->blocks().begin(), node->blocks().end(), HasLoop);
  });
}

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
  InlineAll(*inlined);
  const FatalArguments tried = HasLoop(inlined->block())
                                   ? FatalArguments::kOther
                                   : FatalArgumentsIn(inlined->block());
  if (tried == FatalArguments::kNone) return;
  Register();
  // With the same tensors.
  torch::jit::Module copy = module.clone(/*inplace=*/true);
  const std::shared_ptr<torch::jit::Graph> graph =
      copy.get_method("forward").graph();
  InlineAll(*graph);
  GuardLoops(graph->block());
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
  is_late = false;
  ForgetFatalCall();
  deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(seconds));
  // What the model raises the check finds by itself. LibTorch's optimised
  // programs are not eager: its fuser's kernels on a GPU read where they may
  // not if a tensor that is concatenated has no elements (PyTorch 2.11).
  copy_->model
      .RunEager(device_.is_gpu() ? ToDevice(arguments, device_) : arguments)
      .IgnoreError();
  deadline = Clock::time_point::max();
  if (!FatalCall().empty())
    return absl::FailedPreconditionError(absl::StrCat(
        "LibTorch's ", FatalCall(), ", so that nothing can be compared"));
  if (!is_late) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("a loop of the model goes on after ", seconds,
                   " s of eager's for it, so that nothing can be compared"));
}

}  // namespace aitune::frontend
