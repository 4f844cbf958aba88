#include "frontend/torchscript/fatal_operators.h"

#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "frontend/torchscript/look.h"
#include "frontend/values/attention_heads.h"
#include "frontend/values/recurrent_sizes.h"

namespace aitune::frontend {
namespace {

constexpr const char* kLookAtNumbers = "aitune::look_at_numbers";
constexpr const char* kLookAtPivots = "aitune::look_at_pivots";
constexpr const char* kLookAtDivision = "aitune::look_at_division";
constexpr const char* kLookAtFloorDivision = "aitune::look_at_floor_division";
constexpr const char* kLookAtHeads = "aitune::look_at_heads";
constexpr const char* kLookAtBatchSizes = "aitune::look_at_batch_sizes";
constexpr const char* kLookAtLstm = "aitune::look_at_lstm";

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

void LookAtDivision(torch::jit::Stack& stack) {
  const int64_t divisor = torch::jit::pop(stack).toInt(),
                dividend = torch::jit::pop(stack).toInt();
  if (divisor == 0) Refuse("remainder of a division by 0 ends the process");
  if (divisor == -1 && dividend == std::numeric_limits<int64_t>::min())
    Refuse("division of the least integer by -1 ends the process");
}

void LookAtFloorDivision(torch::jit::Stack& stack) {
  if (torch::jit::peek(stack, 1, 2).toInt() == 0)
    torch::jit::drop(stack, 2);  // it throws by itself
  else
    LookAtDivision(stack);
}

void LookAtHeads(torch::jit::Stack& stack) {
  const at::Tensor query = torch::jit::pop(stack).toTensor();
  // Without queries the kernel has nothing to divide up.
  if (HasNoHeads(query) && query.size(2) > 0)
    Refuse("attention without heads ends the process");
}

// Those of a packed sequence don't increase, and are of rows that it has. What
// has another shape throws by itself.
void LookAtBatchSizes(torch::jit::Stack& stack) {
  const at::Tensor sizes = torch::jit::pop(stack).toTensor(),
                   rows = torch::jit::pop(stack).toTensor();
  if (sizes.dim() != 1 || sizes.numel() == 0 || rows.dim() == 0) return;
  const at::Tensor host = sizes.to(at::kCPU, at::kLong).contiguous();
  const auto* const size = static_cast<const int64_t*>(host.const_data_ptr());
  int64_t left = rows.size(0);
  for (int64_t step = 0; step < host.numel(); ++step) {
    if (size[step] < (step == 0 ? 1 : 0) || size[step] > left ||
        (step > 0 && size[step] > size[step - 1]))
      Refuse(
          "_pad_packed_sequence with batch sizes that are none ends the "
          "process");
    left -= size[step];
  }
}

const c10::FunctionSchema& LstmSchema() {
  static const c10::FunctionSchema& schema =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("aten::lstm", "input")
          .schema();
  return schema;
}

void LookAtLstm(torch::jit::Stack& stack) {
  const std::vector<c10::IValue> arguments = torch::jit::pop(stack, 9);
  if (!RecurrentSizes(LstmSchema(), arguments))
    Refuse("an LSTM whose states don't fit its input may end the process");
}

// What looks at arguments of an operator that may end the process, which begin
// at the place and are so many; null for other operators.
struct Guard {
  const char* look = nullptr;
  size_t place = 0, count = 1;
  void (*run)(torch::jit::Stack& stack) = nullptr;
};

void Register() {
  static const auto* const registered = new torch::jit::RegisterOperators(
      {LookOperator(kLookAtNumbers, "(Tensor x)", LookAtNumbers),
       LookOperator(kLookAtPivots, "(Tensor x)", LookAtPivots),
       LookOperator(kLookAtDivision, "(int x, int y)", LookAtDivision),
       LookOperator(kLookAtFloorDivision, "(int x, int y)",
                    LookAtFloorDivision),
       LookOperator(kLookAtHeads, "(Tensor x)", LookAtHeads),
       LookOperator(kLookAtBatchSizes, "(Tensor x, Tensor y)",
                    LookAtBatchSizes),
       LookOperator(kLookAtLstm,
                    "(Tensor input, Tensor[] hx, Tensor[] params, bool "
                    "has_biases, int num_layers, float dropout, bool train, "
                    "bool bidirectional, bool batch_first)",
                    LookAtLstm)});
  (void)registered;
}

Guard GuardOf(const c10::FunctionSchema& schema) {
  const std::string& name = schema.name();
  if (name == "aten::linalg_eigvals" || name == "aten::_linalg_eigvals")
    return {kLookAtNumbers, 0, 1, LookAtNumbers};
  if (name == "aten::linalg_ldl_solve")
    return {kLookAtPivots, 1, 1, LookAtPivots};
  if (name == "aten::remainder" || name == "aten::floordiv") {
    if (std::any_of(schema.arguments().begin(), schema.arguments().end(),
                    [](const c10::Argument& argument) {
                      return argument.type()->kind() != c10::TypeKind::IntType;
                    }))
      return {};
    if (name == "aten::remainder")
      return {kLookAtDivision, 0, 2, LookAtDivision};
    return {kLookAtFloorDivision, 0, 2, LookAtFloorDivision};
  }
  if (name == "aten::scaled_dot_product_attention")
    return {kLookAtHeads, 0, 1, LookAtHeads};
  if (name == "aten::_pad_packed_sequence")
    return {kLookAtBatchSizes, 0, 2, LookAtBatchSizes};
  if (name == "aten::lstm" && schema.overload_name() == "input")
    return {kLookAtLstm, 0, 9, LookAtLstm};
  return {};
}

Guard GuardOf(const torch::jit::Node& node) {
  const c10::FunctionSchema* const schema = node.maybeSchema();
  return schema == nullptr ? Guard() : GuardOf(*schema);
}

}  // namespace

FatalArguments FatalArgumentsIn(torch::jit::Block* block) {
  FatalArguments found = FatalArguments::kNone;
  for (torch::jit::Node* node : block->nodes()) {
    const char* const look = GuardOf(*node).look;
    if (look != nullptr && look != kLookAtFloorDivision)
      found = std::max(found, look == kLookAtHeads ? FatalArguments::kEmpty
                                                   : FatalArguments::kOther);
    for (torch::jit::Block* inner : node->blocks())
      found = std::max(found, FatalArgumentsIn(inner));
  }
  return found;
}

bool GuardFatalOperators(torch::jit::Block* block) {
  Register();
  bool any = false;
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks())
      any |= GuardFatalOperators(inner);
    const Guard guard = GuardOf(*node);
    if (guard.look == nullptr) continue;
    any = true;
    MakeLook(*block->owningGraph(), guard.look,
             node->inputs().slice(guard.place, guard.count))
        ->insertBefore(node);
  }
  return any;
}

void LookAtCall(const c10::FunctionSchema& schema,
                const std::vector<c10::IValue>& arguments) {
  const Guard guard = GuardOf(schema);
  if (guard.look == nullptr || guard.place + guard.count > arguments.size())
    return;
  torch::jit::Stack stack(
      arguments.begin() + static_cast<std::ptrdiff_t>(guard.place),
      arguments.begin() +
          static_cast<std::ptrdiff_t>(guard.place + guard.count));
  guard.run(stack);
}

const std::string& FatalCall() { return fatal; }

void ForgetFatalCall() { fatal.clear(); }

}  // namespace aitune::frontend
