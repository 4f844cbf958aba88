#include "compiler/driver/ModelSchedules.h"

#include <algorithm>

#include "compiler/dialect/KernelAttributes.h"
#include "compiler/driver/PhaseTimer.h"
#include "compiler/support/Dump.h"
#include "compiler/tune/ModelChoice.h"
#include "compiler/tune/TuneSchedules.h"
#include "runtime/status/status_macros.h"

using namespace mlir;

namespace aitune {
namespace {

/// Seconds at most that the comparison of the whole model takes, the least that
/// it needs, and its share of a search's budget.
constexpr double kMostModelSeconds = 2, kLeastModelSeconds = 0.3,
                 kModelShare = 0.1;

} // namespace

absl::Status ModelSchedules::find(std::vector<Kernel> &kernels,
                                  CompilationTarget &target,
                                  absl::Span<const ConstantTensor> constants) {
  if (options.tuning.database.empty() && !isSearching())
    return absl::OkStatus();
  const PhaseTimer timer(result, "tuning");
  AITUNE_ASSIGN_OR_RETURN(choices,
                          TuningChoices::open(options.tuning.database, target,
                                              ait::getModuleSymbols(module)));
  if (auto main = module.lookupSymbol<func::FuncOp>("main"))
    fusedMain = printToString(main);
  absl::Status status;
  if (isSearching()) {
    status = tuneSchedules(kernels, module, constants, target, *choices,
                           options, result);
  } else {
    absl::StatusOr<int> reused = choices->apply(kernels);
    absl::StatusOr<bool> alone = choices->usesOneThread(fusedMain);
    status = reused.ok() ? alone.status() : reused.status();
    if (status.ok()) {
      result.tuning.reused = *reused;
      oneThread |= *alone;
    }
  }
  result.tuning.seconds = timer.seconds();
  return status;
}

absl::Status ModelSchedules::compareModel(
    std::vector<Kernel> &kernels, const CompilationTarget &target,
    absl::Span<const ConstantTensor> constants, ChosenKernels &chosen) {
  if (!isSearching() || !choices)
    return absl::OkStatus();
  const PhaseTimer timer(result, "model comparison");
  if (options.progress)
    options.progress("comparing the model with its default", 0, 1);
  AITUNE_ASSIGN_OR_RETURN(
      ModelChoice model,
      chooseModel(module.lookupSymbol<func::FuncOp>("main"),
                  ait::getModuleSymbols(module), chosen, target, constants,
                  std::clamp(kModelShare * options.tuning.budgetSeconds,
                             kLeastModelSeconds, kMostModelSeconds),
                  result));
  AITUNE_RETURN_IF_ERROR(checkUsable(target, "the model's comparison"));
  oneThread = model.oneThread;
  absl::Status kept = choices->keepThreads(fusedMain, oneThread);
  if (kept.ok())
    kept = choices->keepCuts(kernels);
  if (kept.ok() && model.keepsDefaults)
    kept = choices->keepDefaults(kernels);
  if (!kept.ok())
    result.tuning.note = std::string(kept.message());
  if (model.keepsDefaults)
    chosen.best = chosen.unsearched;
  return absl::OkStatus();
}

} // namespace aitune
