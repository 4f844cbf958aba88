#include "frontend/check/loop_guard.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/inline_forks.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/values/gpu.h"

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
  static const torch::jit::RegisterOperators registered({torch::jit::Operator(
      absl::StrCat(kLookAtTheClock, "() -> ()"), LookAtTheClock,
      c10::AliasAnalysisKind::CONSERVATIVE)});
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

bool HasLoops(torch::jit::Block* block) {
  for (torch::jit::Node* node : block->nodes()) {
    if (node->kind() == c10::prim::Loop) return true;
    for (torch::jit::Block* inner : node->blocks()) {
      if (HasLoops(inner)) return true;
    }
  }
  return false;
}

}  // namespace

struct LoopGuard::Copy {
  torch::jit::Module module;
};

LoopGuard::LoopGuard(const Model& model, const Device& device)
    : device_(device) {
  const torch::jit::Module& module = model.impl().module;
  const std::shared_ptr<torch::jit::Graph> inlined =
      module.get_method("forward").graph()->copy();
  InlineAll(*inlined);
  if (!HasLoops(inlined->block())) return;
  Register();
  // With the same tensors.
  torch::jit::Module copy = module.clone(/*inplace=*/true);
  const std::shared_ptr<torch::jit::Graph> graph =
      copy.get_method("forward").graph();
  InlineAll(*graph);
  GuardLoops(graph->block());
  copy_ = std::make_unique<Copy>(Copy{std::move(copy)});
}

LoopGuard::~LoopGuard() = default;

absl::Status LoopGuard::Try(const ValueList& arguments, double seconds) const {
  if (copy_ == nullptr) return absl::OkStatus();
  const c10::NoGradGuard no_grad;
  is_late = false;
  deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(seconds));
  try {
    const ValueList there =
        device_.is_gpu() ? ToDevice(arguments, device_) : arguments;
    copy_->module.forward(
        std::vector<c10::IValue>(there.values().begin(), there.values().end()));
  } catch (const std::exception&) {
    // What the model raises the check finds by itself.
  }
  deadline = Clock::time_point::max();
  if (!is_late) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("a loop of the model goes on after ", seconds,
                   " s of eager's for it, so that nothing can be compared"));
}

}  // namespace aitune::frontend
