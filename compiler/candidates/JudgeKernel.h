// Makes the judge of a kernel's candidates, which knows where the arguments of
// the kernel come from in a plan that launches it alone.
#ifndef AITUNE_COMPILER_CANDIDATES_JUDGEKERNEL_H
#define AITUNE_COMPILER_CANDIDATES_JUDGEKERNEL_H

#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "compiler/Compiler.h"
#include "compiler/candidates/Kernel.h"
#include "compiler/measure/KernelJudge.h"

namespace aitune {

/// Constants of the pool that are inputs of a plan, one after the other.
struct StreamedConstants {
  std::vector<int> constants; ///< the constants' numbers in the pool
  int first = 0;              ///< the number of the first one's input
};

/// A judge of `kernel` in the plan of buildCandidatePlan: arguments that are
/// constants of the pool have the content that `constants` says, except for
/// those in `streamed`, which are inputs; all other arguments are the plan's
/// inputs, in order. `kernel` and `constants` must live as long as the judge.
std::unique_ptr<KernelJudge> judgeOf(const Kernel &kernel,
                                     absl::Span<const ConstantTensor> constants,
                                     const ReferenceOptions &options,
                                     const StreamedConstants &streamed = {});

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_JUDGEKERNEL_H
