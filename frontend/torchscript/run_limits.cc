#include "frontend/torchscript/run_limits.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>

#include "frontend/torchscript/any_node.h"
#include "frontend/torchscript/inline_calls.h"
#include "frontend/torchscript/look.h"

namespace aitune::frontend {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kLookAtTheClock = "aitune::look_at_the_clock";
constexpr const char* kLookAtSizes = "aitune::look_at_sizes";
constexpr const char* kLookAtLength = "aitune::look_at_length";
constexpr double kMostElements = 1 << 26;

struct Limits {
  Clock::time_point deadline = Clock::time_point::max();
  bool limits_sizes = false;
  bool is_late = false;
};
thread_local Limits limits;

void LookAtTheClock(torch::jit::Stack&) {
  if (Clock::now() < limits.deadline) return;
  limits.is_late = true;
  throw std::runtime_error("the time of a run that was tried is over");
}

void LookAtElements(double count) {
  if (limits.limits_sizes && count > kMostElements)
    throw std::runtime_error("a tensor of a run that was tried is too large");
}

void LookAtSizes(torch::jit::Stack& stack) {
  const c10::List<int64_t> sizes = torch::jit::pop(stack).toIntList();
  double count = 1;
  for (const int64_t size : sizes) count *= std::abs(static_cast<double>(size));
  LookAtElements(count);
}

void LookAtLength(torch::jit::Stack& stack) {
  LookAtElements(torch::jit::pop(stack).toScalar().toDouble());
}

void Register() {
  static const auto* const registered = new torch::jit::RegisterOperators(
      {LookOperator(kLookAtTheClock, "()", LookAtTheClock),
       LookOperator(kLookAtSizes, "(int[] sizes)", LookAtSizes),
       LookOperator(kLookAtLength, "(Scalar x)", LookAtLength)});
  (void)registered;
}

// The place among the inputs of an argument that decides how many elements the
// result has.
std::optional<size_t> PlaceOfSizes(const torch::jit::Node& node) {
  const c10::FunctionSchema* const schema = node.maybeSchema();
  if (schema == nullptr || !node.kind().is_aten()) return std::nullopt;
  const auto& arguments = schema->arguments();
  for (size_t i = 0; i < arguments.size() && i < node.inputs().size(); ++i) {
    const std::string& name = arguments[i].name();
    const torch::jit::Value* const input = node.input(i);
    const bool is_list = input->type()->isSubtypeOf(*c10::ListType::ofInts()) &&
                         (name == "size" || name == "repeats");
    const bool is_end = node.kind() == c10::aten::arange && name == "end" &&
                        input->type()->isSubtypeOf(*c10::NumberType::get());
    if (is_list || is_end) return i;
  }
  return std::nullopt;
}

}  // namespace

bool HasCalls(torch::jit::Block* block) {
  return AnyNode(block, [](torch::jit::Node* node) {
    return node->kind() == c10::prim::CallMethod ||
           node->kind() == c10::prim::CallFunction ||
           node->kind() == c10::prim::fork;
  });
}

bool LimitLoops(torch::jit::Block* block) {
  Register();
  bool any = false;
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks()) any |= LimitLoops(inner);
    if (node->kind() != c10::prim::Loop) continue;
    any = true;
    node->blocks()[0]->prependNode(
        MakeLook(*block->owningGraph(), kLookAtTheClock, {}));
  }
  return any;
}

bool LimitSizes(torch::jit::Block* block) {
  Register();
  bool any = false;
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks()) any |= LimitSizes(inner);
    const std::optional<size_t> place = PlaceOfSizes(*node);
    if (!place) continue;
    any = true;
    torch::jit::Value* const sizes = node->input(*place);
    const bool is_list = sizes->type()->kind() == c10::TypeKind::ListType;
    MakeLook(*block->owningGraph(), is_list ? kLookAtSizes : kLookAtLength,
             {sizes})
        ->insertBefore(node);
  }
  return any;
}

RunLimits::RunLimits(double seconds, bool limits_sizes) {
  limits.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double>(seconds));
  limits.limits_sizes = limits_sizes;
  limits.is_late = false;
}

RunLimits::~RunLimits() { limits = Limits(); }

bool RunLimits::AreOfOtherWay() { return limits.limits_sizes; }

bool RunLimits::IsLate() const { return limits.is_late; }

}  // namespace aitune::frontend
