// Plans from which fuzz targets and their tests start. What they refer to:
// SeedConstants, fallback region 0, and a kernel "kernel".
#ifndef AITUNE_RUNTIME_FUZZ_FUZZED_PLANS_H_
#define AITUNE_RUNTIME_FUZZ_FUZZED_PLANS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "runtime/executable/executable.h"
#include "runtime/plan/plan.h"

namespace aitune {

// A float32 filter [16, 16, 3, 3], bias [16] and weights [16, 32].
std::vector<ConstantTensor> SeedConstants();

// Fallback regions, an alias, a kernel that checks what it reads, a product and
// a constraint of the sizes.
ExecutablePlan MatmulPlan();

// A convolution with post-ops, packed and persistent values, outputs that are
// an input, a value and no tensor.
ExecutablePlan ConvolutionPlan();

// Whether every value of the plan has at most so many bytes for these values of
// the symbols. A plan with types that make no sense is not small.
bool IsSmall(const ExecutablePlan& plan, absl::Span<const int64_t> symbols,
             int64_t most_bytes);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_FUZZ_FUZZED_PLANS_H_
