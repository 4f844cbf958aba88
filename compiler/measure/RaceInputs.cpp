#include "compiler/measure/RaceInputs.h"

#include <random>
#include <utility>

#include "compiler/measure/HostTensor.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"
#include "llvm/ADT/STLExtras.h"

namespace aitune {

absl::Status RaceInputs::make(JudgedInputs set) {
  const std::vector<int64_t> symbols = symbolsOf(plan, set);
  made.resize(plan.inputs_size());
  inputs.resize(plan.inputs_size());
  written.assign(plan.inputs_size(), false);
  for (int i = 0; i < plan.inputs_size(); ++i) {
    AITUNE_ASSIGN_OR_RETURN(TensorView view, ViewOf(plan.inputs(i), symbols));
    const bool isWeight = weights.count(i) > 0;
    if (isWeight && made[i].count > 0 && inputs[i].sizes == view.sizes)
      continue;
    std::seed_seq seed{i, isWeight ? -1 : static_cast<int>(set)};
    std::mt19937 generator(seed);
    made[i] = set == JudgedInputs::Extreme && !isWeight
                  ? extremeNumbers(view, takesNonFinite, generator)
                  : randomNumbers(view, generator);
    if (set == JudgedInputs::WithNan && i == 0 && !isWeight)
      putNan(made[i]);
    inputs[i] = std::move(view);
    written[i] = true;
  }
  return absl::OkStatus();
}

void prepareAll(KernelJudge &judge, const ExecutablePlan &plan,
                const std::set<int> &weights) {
  RaceInputs inputs(plan, weights, judge.takesNonFinite());
  for (JudgedInputs set : judge.inputSets(plan)) {
    if (!inputs.make(set).ok())
      return;
    std::vector<HostTensor> memory;
    std::vector<TensorView> views;
    for (auto [number, shape] : llvm::enumerate(inputs.shapes())) {
      memory.emplace_back(shape);
      writeNumbers(inputs.numbers(static_cast<int>(number)),
                   memory.back().view());
      views.push_back(memory.back().view());
    }
    // Why there is no reference is kept by the judge.
    judge.prepare(set, views, symbolsOf(plan, set)).IgnoreError();
  }
}

} // namespace aitune
