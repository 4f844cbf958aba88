#include "compiler/measure/RaceInputs.h"

#include <random>
#include <utility>

#include "compiler/measure/TestData.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

namespace aitune {

absl::Status RaceInputs::make(JudgedInputs set) {
  const std::vector<int64_t> symbols = symbolsOf(plan, set);
  data.resize(plan.inputs_size());
  inputs.resize(plan.inputs_size());
  written.assign(plan.inputs_size(), false);
  for (int i = 0; i < plan.inputs_size(); ++i) {
    AITUNE_ASSIGN_OR_RETURN(TensorView view, ViewOf(plan.inputs(i), symbols));
    const bool isWeight = weights.count(i) > 0;
    if (isWeight && inputs[i].data && inputs[i].sizes == view.sizes)
      continue;
    data[i].resize(BytesOf(view));
    view.data = data[i].data();
    std::seed_seq seed{i, isWeight ? -1 : static_cast<int>(set)};
    std::mt19937 generator(seed);
    if (set == JudgedInputs::Extreme && !isWeight)
      fillExtreme(view, takesNonFinite, generator);
    else
      fillRandom(view, generator);
    if (set == JudgedInputs::WithNan && i == 0 && !isWeight)
      putNan(view);
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
    // Why there is no reference is kept by the judge.
    judge.prepare(set, inputs.views(), symbolsOf(plan, set)).IgnoreError();
  }
}

} // namespace aitune
