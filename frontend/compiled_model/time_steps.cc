#include "frontend/compiled_model/time_steps.h"

#include <algorithm>
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

// As CompiledModel::Profile, with a call before each run.
absl::StatusOr<std::vector<StepProfile>> ProfileRuns(
    const CompiledModel& version, const ValueList& arguments, int repeats,
    const std::function<absl::Status()>& before_run) {
  if (before_run == nullptr || repeats < 1)
    return version.Profile(arguments, repeats);
  std::vector<std::vector<StepProfile>> runs;
  for (int run = 0; run < repeats; ++run) {
    AITUNE_RETURN_IF_ERROR(before_run());
    AITUNE_ASSIGN_OR_RETURN(runs.emplace_back(), version.Profile(arguments, 1));
  }
  std::vector<StepProfile> medians = runs.front();
  for (size_t step = 0; step < medians.size(); ++step) {
    std::vector<double> times;
    for (const std::vector<StepProfile>& run : runs)
      times.push_back(run[step].microseconds);
    std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
    medians[step].microseconds = times[repeats / 2];
  }
  return medians;
}

}  // namespace

absl::StatusOr<std::vector<StepTime>> TimeSteps(
    const CompiledModel& version, const ValueList& arguments, int repeats,
    const std::function<absl::Status()>& before_run) {
  AITUNE_ASSIGN_OR_RETURN(const std::vector<int64_t> symbols,
                          version.SymbolValues(arguments));
  AITUNE_ASSIGN_OR_RETURN(const std::vector<StepProfile> profile,
                          ProfileRuns(version, arguments, repeats, before_run));
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
    time.scope = step.scope();
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
