#include "frontend/check/run_guard.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/inline_forks.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/values/attention_heads.h"
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

constexpr const char* kLookAtNumbers = "aitune::look_at_numbers";
constexpr const char* kLookAtPivots = "aitune::look_at_pivots";
constexpr const char* kLookAtDivisor = "aitune::look_at_divisor";
constexpr const char* kLookAtHeads = "aitune::look_at_heads";

// Why an operator of this thread's guarded run would end the process.
thread_local std::string fatal;

[[noreturn]] void Refuse(const char* reason) {
  fatal = reason;
  throw std::runtime_error(reason);
}

void LookAtNumbers(torch::jit::Stack& stack) {
  const at::Tensor numbers = torch::jit::pop(stack).toTensor();
  if (!numbers.isfinite().all().item<bool>())
    Refuse("eigvals of what is not finite ends the process");
}

// As LAPACK's sytrf gives them: the row, from 1, that each row was swapped
// with, or its negative in both rows of a block.
void LookAtPivots(torch::jit::Stack& stack) {
  const at::Tensor all = torch::jit::pop(stack).toTensor();
  if (all.dim() == 0 || all.numel() == 0) return;
  const int64_t n = all.size(-1);
  const at::Tensor rows =
      all.to(at::kCPU, at::kLong).reshape({-1, n}).contiguous();
  for (int64_t matrix = 0; matrix < rows.size(0); ++matrix) {
    const int64_t* pivots =
        static_cast<const int64_t*>(rows.const_data_ptr()) + matrix * n;
    for (int64_t i = 0; i < n; ++i) {
      const bool is_block =
          pivots[i] < 0 && i + 1 < n && pivots[i + 1] == pivots[i];
      if (pivots[i] == 0 || std::abs(pivots[i]) > n ||
          (pivots[i] < 0 && !is_block))
        Refuse("ldl_solve with pivots that are none ends the process");
      if (is_block) ++i;
    }
  }
}

void LookAtDivisor(torch::jit::Stack& stack) {
  if (torch::jit::pop(stack).toInt() == 0)
    Refuse("remainder of a division by 0 ends the process");
}

void LookAtHeads(torch::jit::Stack& stack) {
  if (HasNoHeads(torch::jit::pop(stack).toTensor()))
    Refuse("attention without heads ends the process");
}

void Register() {
  static const auto* const registered = new torch::jit::RegisterOperators(
      {torch::jit::Operator(absl::StrCat(kLookAtTheClock, "() -> ()"),
                            LookAtTheClock,
                            c10::AliasAnalysisKind::CONSERVATIVE),
       torch::jit::Operator(absl::StrCat(kLookAtNumbers, "(Tensor x) -> ()"),
                            LookAtNumbers,
                            c10::AliasAnalysisKind::CONSERVATIVE),
       torch::jit::Operator(absl::StrCat(kLookAtPivots, "(Tensor x) -> ()"),
                            LookAtPivots, c10::AliasAnalysisKind::CONSERVATIVE),
       torch::jit::Operator(absl::StrCat(kLookAtDivisor, "(int x) -> ()"),
                            LookAtDivisor,
                            c10::AliasAnalysisKind::CONSERVATIVE),
       torch::jit::Operator(absl::StrCat(kLookAtHeads, "(Tensor x) -> ()"),
                            LookAtHeads,
                            c10::AliasAnalysisKind::CONSERVATIVE)});
  (void)registered;
}

// What looks at the arguments of a node that may end the process, and at which;
// null for other nodes.
std::pair<const char*, size_t> GuardOf(const torch::jit::Node& node) {
  const std::string name = node.kind().toQualString();
  if (name == "aten::linalg_eigvals" || name == "aten::_linalg_eigvals")
    return {kLookAtNumbers, 0};
  if (name == "aten::linalg_ldl_solve") return {kLookAtPivots, 1};
  if (name == "aten::remainder" &&
      node.input(0)->type()->kind() == c10::TypeKind::IntType &&
      node.input(1)->type()->kind() == c10::TypeKind::IntType)
    return {kLookAtDivisor, 1};
  if (name == "aten::scaled_dot_product_attention") return {kLookAtHeads, 0};
  return {nullptr, 0};
}

void GuardOperators(torch::jit::Block* block) {
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks()) GuardOperators(inner);
    const auto [look, argument] = GuardOf(*node);
    if (look == nullptr) continue;
    block->owningGraph()
        ->create(c10::Symbol::fromQualString(look), {node->input(argument)},
                 /*num_outputs=*/0)
        ->insertBefore(node);
  }
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

// For which arguments a run of the guarded copy comes first.
enum class Guarded { kNone, kEmpty, kAll };

Guarded GuardedOf(torch::jit::Block* block) {
  Guarded guarded = Guarded::kNone;
  for (torch::jit::Node* node : block->nodes()) {
    const char* const look = GuardOf(*node).first;
    if (look == kLookAtHeads)
      guarded = std::max(guarded, Guarded::kEmpty);
    else if (node->kind() == c10::prim::Loop || look != nullptr)
      return Guarded::kAll;
    for (torch::jit::Block* inner : node->blocks())
      guarded = std::max(guarded, GuardedOf(inner));
  }
  return guarded;
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
  torch::jit::Module module;
  Guarded guarded;
};

RunGuard::RunGuard(const Model& model, const Device& device) : device_(device) {
  const torch::jit::Module& module = model.impl().module();
  const std::shared_ptr<torch::jit::Graph> inlined =
      module.get_method("forward").graph()->copy();
  InlineAll(*inlined);
  const Guarded guarded = GuardedOf(inlined->block());
  if (guarded == Guarded::kNone) return;
  Register();
  // With the same tensors.
  torch::jit::Module copy = module.clone(/*inplace=*/true);
  const std::shared_ptr<torch::jit::Graph> graph =
      copy.get_method("forward").graph();
  InlineAll(*graph);
  GuardLoops(graph->block());
  GuardOperators(graph->block());
  copy_ = std::make_unique<Copy>(Copy{std::move(copy), guarded});
}

RunGuard::~RunGuard() = default;

absl::Status RunGuard::Try(const ValueList& arguments, double seconds) const {
  if (copy_ == nullptr ||
      (copy_->guarded == Guarded::kEmpty && !HasEmpty(arguments)))
    return absl::OkStatus();
  const c10::NoGradGuard no_grad;
  is_late = false;
  fatal.clear();
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
  if (!fatal.empty())
    return absl::FailedPreconditionError(absl::StrCat(
        "LibTorch's ", fatal, ", so that nothing can be compared"));
  if (!is_late) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("a loop of the model goes on after ", seconds,
                   " s of eager's for it, so that nothing can be compared"));
}

}  // namespace aitune::frontend
