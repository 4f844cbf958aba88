// Runs a call of an operator in every probe.
#include <ATen/Functions.h>

#include <algorithm>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/fatal_operators.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/tracing/probe_run.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

// The tensors in `values` that depend on input data.
void AddMadeUp(const std::vector<ProbedRef>& values, size_t probe,
               std::unordered_set<const at::TensorImpl*>& tensors) {
  for (const ProbedRef& value : values) {
    if (!value->elements.empty())
      AddMadeUp(value->elements, probe, tensors);
    else if (IsTainted(*value))
      AddTensors(ValueInProbe(*value, probe), tensors);
  }
}

// Elements that a program never set may become constants of it, which are
// saved: zeros, not what this process had in that memory.
void SetWhatIsEmpty(const c10::FunctionSchema& schema,
                    std::vector<c10::IValue>& results) {
  static const auto* const kNames = new std::set<std::string>{
      "aten::empty",          "aten::empty_like", "aten::empty_strided",
      "aten::empty_permuted", "aten::new_empty",  "aten::new_empty_strided"};
  if (kNames->count(schema.name()) == 0) return;
  for (c10::IValue& result : results) {
    if (result.isTensor() && IsPlainTensor(result.toTensor()))
      result.toTensor().zero_();
  }
}

}  // namespace

absl::StatusOr<std::vector<std::vector<c10::IValue>>> Interpreter::Execute(
    const Invocation& call) {
  std::vector<std::vector<c10::IValue>> results;
  const bool once = AllUniform(call.arguments);
  const bool tainted = AnyTainted(call.arguments);
  for (size_t probe = 0; probe < fitter_.probes().size(); ++probe) {
    if (once && probe > 0) {
      results.push_back(results[0]);
      continue;
    }
    std::vector<c10::IValue> stack;
    for (const ProbedRef& argument : call.arguments)
      stack.push_back(ValueInProbe(*argument, probe));
    std::unordered_set<const at::TensorImpl*> made_up;
    AddMadeUp(call.arguments, probe, made_up);
    const absl::Status status =
        CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
          if (TakesArgumentCount(*call.schema))
            stack.emplace_back(static_cast<int64_t>(call.arguments.size()));
          if (tainted && IsSlowOnCpu(*call.schema, stack)) {
            RunForShapes(*call.schema, call.run, stack);
            return absl::OkStatus();
          }
          const auto run = [&](std::vector<c10::IValue>& arguments) {
            if (tainted) LookAtCall(*call.schema, arguments);
            if (call.schema->is_mutable())
              call.run(arguments);
            else
              RunOrWiden(call.run, arguments);
          };
          // What writes to made-up elements writes to a copy of them. Other
          // elements lie at other strides.
          if (tainted && !NeedsView(*call.schema))
            RunWithMadeUpElements(made_up, run, stack);
          else
            run(stack);
          SetWhatIsEmpty(*call.schema, stack);
          return absl::OkStatus();
        });
    if (!status.ok()) {
      std::vector<c10::IValue> arguments;
      for (const ProbedRef& argument : call.arguments)
        arguments.push_back(ValueInProbe(*argument, probe));
      const std::string error = absl::StrCat(
          DescribeCall(*call.schema, arguments), " fails: ", status.message());
      // Data decides about the sizes, and so about whether it fails.
      if (std::any_of(call.arguments.begin(), call.arguments.end(),
                      [](const ProbedRef& a) { return HasUnknownSizes(*a); }))
        return absl::UnimplementedError(error);
      return RestrictToWorking(call, absl::InvalidArgumentError(error));
    }
    if (stack.size() != call.result_count) {
      return absl::UnimplementedError(
          absl::StrCat(call.schema->name(), " gives ", stack.size(),
                       " results instead of ", call.result_count));
    }
    results.push_back(std::move(stack));
  }
  return results;
}

}  // namespace aitune::frontend
