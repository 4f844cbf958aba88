#include "compiler/tune/ModelChoice.h"

#include <memory>
#include <string>
#include <vector>

#include <malloc.h>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/cpu/target/Grain.h"
#include "compiler/plan/PlanBuilder.h"
#include "runtime/status/status_macros.h"

using namespace mlir;

namespace aitune {
namespace {

/// Milliseconds of a run below which one thread may be enough.
constexpr double kSmallMilliseconds = 4;

/// The variants of a model: with the default schedules and with those found,
/// first on all threads, then on one.
constexpr size_t kDefault = 0, kTuned = 1, kOnAllThreads = 2;
const char *const kNames[] = {"default", "tuned", "default on one thread",
                              "tuned on one thread"};

bool callsLibTorch(const ExecutablePlan &plan) {
  for (const Step &step : plan.steps())
    if (step.has_fallback())
      return true;
  return false;
}

} // namespace

void useOneThread(ExecutablePlan &plan) {
  for (Step &step : *plan.mutable_steps())
    if (step.has_kernel())
      step.mutable_kernel()->set_grain(kSerialGrain);
}

absl::StatusOr<ModelChoice>
chooseModel(func::FuncOp main, ArrayAttr symbols, const ChosenKernels &kernels,
            const CompilationTarget &target,
            absl::Span<const ConstantTensor> constants, double seconds,
            CompileResult &result) {
  std::vector<RaceEntry> entries;
  for (bool oneThread : {false, true})
    for (const auto *implementations : {&kernels.unsearched, &kernels.best}) {
      AITUNE_ASSIGN_OR_RETURN(ExecutablePlan plan,
                              buildPlan(main, symbols, *implementations));
      if (callsLibTorch(plan))
        return ModelChoice();
      plan.set_ignores_checks(true);
      if (oneThread)
        useOneThread(plan);
      SmallVector<const KernelImplementation *> used;
      for (const auto &entry : *implementations)
        used.push_back(&entry.second);
      entries.push_back({std::move(plan), objectsOf(used)});
    }
  // One thread halves what large models reach: they are not asked.
  const std::unique_ptr<CandidateRace> race =
      target.race(std::move(entries), /*kernel=*/nullptr, constants);
  auto measure = [&](size_t first,
                     size_t end) -> absl::StatusOr<std::vector<Measurement>> {
    for (size_t i = first; i < end; ++i)
      AITUNE_RETURN_IF_ERROR(race->load(i));
    absl::StatusOr<std::vector<Measurement>> measured = race->measure(seconds);
    if (measured.ok())
      measured->resize(end);
    return measured;
  };
  absl::StatusOr<std::vector<Measurement>> measured = measure(0, kOnAllThreads);
  if (!measured.ok())
    return measured.status();
  const double milliseconds = (*measured)[kDefault].microseconds / 1e3;
  if (target.hasThreads() && milliseconds >= 0 &&
      milliseconds < kSmallMilliseconds)
    measured = measure(kOnAllThreads, std::size(kNames));
  if (!measured.ok())
    return measured.status();
  malloc_trim(0);
  const size_t choice = chooseVariant(*measured, kTuned);
  for (size_t i = 0; i < measured->size(); ++i)
    result.candidates.push_back({"the whole model", kNames[i],
                                 (*measured)[i].microseconds, i == choice,
                                 (*measured)[i].note});
  const ModelChoice model{choice >= kOnAllThreads,
                          choice % kOnAllThreads == kDefault};
  if (model.keepsDefaults && result.tuning.note.empty())
    result.tuning.note = absl::StrCat(
        "the default schedules stay: the whole model takes ",
        (*measured)[kTuned].microseconds / 1e3, " ms with those found, ",
        milliseconds, " ms with the default ones");
  return model;
}

size_t chooseVariant(absl::Span<const Measurement> measured, size_t preferred) {
  size_t best = preferred;
  for (size_t i = 0; i < measured.size(); ++i) {
    if (i == preferred || measured[i].microseconds < 0)
      continue;
    const bool beats = measured[preferred].microseconds < 0 ||
                       measured[i].high < measured[preferred].low;
    if (beats && (best == preferred ||
                  measured[i].microseconds < measured[best].microseconds))
      best = i;
  }
  return best;
}

} // namespace aitune
