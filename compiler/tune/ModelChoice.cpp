#include "compiler/tune/ModelChoice.h"

#include <memory>

#include <malloc.h>

#include "compiler/codegen/cpu/target/Grain.h"
#include "runtime/cpu/kernel_loader.h"
#include "runtime/executable/cpu_executable.h"

namespace aitune {

void useOneThread(ExecutablePlan &plan) {
  for (Step &step : *plan.mutable_steps())
    if (step.has_kernel())
      step.mutable_kernel()->set_grain(kSerialGrain);
}

absl::StatusOr<std::vector<Measurement>>
measureVariants(absl::Span<const ModelVariant> variants,
                absl::Span<const ConstantTensor> constants, double seconds) {
  std::vector<std::unique_ptr<Executable>> executables;
  std::vector<const Executable *> loaded;
  for (const ModelVariant &variant : variants) {
    for (const Step &step : variant.plan.steps())
      if (step.has_fallback())
        return std::vector<Measurement>();
    std::vector<std::string> objects;
    for (const KernelObject &object : variant.objects)
      objects.push_back(object.object);
    auto kernels = LoadKernels(objects);
    if (!kernels.ok())
      return kernels.status();
    ExecutablePlan plan = variant.plan;
    plan.set_ignores_checks(true);
    auto executable = CpuExecutable::Load(
        std::move(plan), *kernels, {constants.begin(), constants.end()}, {});
    if (!executable.ok())
      return executable.status();
    executables.push_back(*std::move(executable));
    loaded.push_back(executables.back().get());
  }
  std::vector<Measurement> measured = measureCandidates(loaded, {seconds});
  executables.clear();
  malloc_trim(0);
  return measured;
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
