#include "frontend/torchscript/fatal_operators.h"

#include <ATen/Functions.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/values/attention_heads.h"

namespace aitune::frontend {
namespace {

constexpr const char* kLookAtNumbers = "aitune::look_at_numbers";
constexpr const char* kLookAtPivots = "aitune::look_at_pivots";
constexpr const char* kLookAtDivisor = "aitune::look_at_divisor";
constexpr const char* kLookAtHeads = "aitune::look_at_heads";

thread_local std::string fatal;  // FatalCall

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
      {torch::jit::Operator(absl::StrCat(kLookAtNumbers, "(Tensor x) -> ()"),
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

}  // namespace

FatalArguments FatalArgumentsIn(torch::jit::Block* block) {
  FatalArguments found = FatalArguments::kNone;
  for (torch::jit::Node* node : block->nodes()) {
    const char* const look = GuardOf(*node).first;
    if (look != nullptr)
      found = std::max(found, look == kLookAtHeads ? FatalArguments::kEmpty
                                                   : FatalArguments::kOther);
    for (torch::jit::Block* inner : node->blocks())
      found = std::max(found, FatalArgumentsIn(inner));
  }
  return found;
}

void GuardFatalOperators(torch::jit::Block* block) {
  Register();
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks()) GuardFatalOperators(inner);
    const auto [look, argument] = GuardOf(*node);
    if (look == nullptr) continue;
    block->owningGraph()
        ->create(c10::Symbol::fromQualString(look), {node->input(argument)},
                 /*num_outputs=*/0)
        ->insertBefore(node);
  }
}

const std::string& FatalCall() { return fatal; }

void ForgetFatalCall() { fatal.clear(); }

}  // namespace aitune::frontend
