// The last word of a search: the whole model, with what was found and without.
//
// Kernels are searched one at a time, with caches and threads that a model need
// not leave them in. So what was found is used only if the model as a whole is
// not slower with it; and a small model is also tried on one thread, which
// spares it the handing over of every step.
#ifndef AITUNE_COMPILER_TUNE_MODELCHOICE_H
#define AITUNE_COMPILER_TUNE_MODELCHOICE_H

#include <string>
#include <vector>

#include "compiler/Compiler.h"
#include "compiler/measure/Measure.h"

namespace aitune {

/// A way to run the model.
struct ModelVariant {
  std::string name;
  ExecutablePlan plan;
  std::vector<KernelObject> objects;
};

/// Leaves no step of the plan more than one thread.
void useOneThread(ExecutablePlan &plan);

/// Milliseconds of one run of each variant, measured against each other on
/// random inputs for about `seconds`; see chooseVariant for which to take.
/// Empty if the model cannot be run here, because steps of it are LibTorch's.
/// Errors: those of loading a variant.
absl::StatusOr<std::vector<Measurement>>
measureVariants(absl::Span<const ModelVariant> variants,
                absl::Span<const ConstantTensor> constants, double seconds);

/// The variant to take: `preferred`, unless another is faster than its
/// confidence interval tells; of several such, the fastest.
size_t chooseVariant(absl::Span<const Measurement> measured, size_t preferred);

} // namespace aitune

#endif // AITUNE_COMPILER_TUNE_MODELCHOICE_H
