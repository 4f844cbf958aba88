#include "frontend/compiled_model/time_steps.h"

#include <utility>

#include "runtime/executable/executable.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

StepRunner RunnerOf(const Step& step) {
  if (step.has_fallback()) return StepRunner::kLibTorch;
  if (step.has_kernel() || step.has_cuda_kernel()) return StepRunner::kKernel;
  return StepRunner::kLibrary;
}

}  // namespace

absl::StatusOr<std::vector<StepTime>> TimeSteps(const CompiledModel& version,
                                                const ValueList& arguments,
                                                int repeats) {
  AITUNE_ASSIGN_OR_RETURN(const std::vector<int64_t> symbols,
                          version.SymbolValues(arguments));
  AITUNE_ASSIGN_OR_RETURN(const std::vector<StepProfile> profile,
                          version.Profile(arguments, repeats));
  const ExecutablePlan& plan = version.plan();
  std::vector<const Step*> steps;
  for (const Step& step : plan.steps()) steps.push_back(&step);
  const std::vector<bool> runs = ChooseAlternatives(steps, symbols);
  std::vector<StepTime> times;
  for (size_t i = 0; i < profile.size(); ++i) {
    if (!runs[i]) continue;
    const Step& step = *steps[i];
    StepTime& time = times.emplace_back();
    time.name = step.name();
    time.kind = step.kind();
    time.runner = RunnerOf(step);
    time.implementation = time.runner == StepRunner::kLibTorch
                              ? "LibTorch"
                              : step.implementation();
    time.location = step.location();
    time.microseconds = profile[i].microseconds;
    if (step.has_flops()) {
      AITUNE_ASSIGN_OR_RETURN(const SizeExpression flops,
                              FromProto(step.flops(), plan.symbols_size()));
      time.flops = static_cast<double>(flops.Evaluate(symbols));
    }
  }
  return times;
}

}  // namespace aitune::frontend
