// What the candidates of a kernel are judged by when it is launched alone.
#ifndef AITUNE_COMPILER_CANDIDATES_JUDGEKERNEL_H
#define AITUNE_COMPILER_CANDIDATES_JUDGEKERNEL_H

#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "compiler/Compiler.h"
#include "compiler/candidates/Kernel.h"
#include "compiler/measure/KernelJudge.h"

namespace aitune {

/// Constants of the pool that a plan has as inputs: the numbers of the
/// constants, and of the input that the first of them is.
struct StreamedConstants {
  std::vector<int> constants;
  int first = 0;
};

/// A judge of `kernel` as buildCandidatePlan runs it: with its constants of the
/// pool, but for those that are `streamed`, and its other inputs as the plan's,
/// in order. `kernel` and `constants` must live as long.
std::unique_ptr<KernelJudge> judgeOf(const Kernel &kernel,
                                     absl::Span<const ConstantTensor> constants,
                                     const ReferenceOptions &options,
                                     const StreamedConstants &streamed = {});

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_JUDGEKERNEL_H
