// Inputs to measure kernels with, and comparison of what they compute.
#ifndef AITUNE_COMPILER_MEASURE_TESTDATA_H
#define AITUNE_COMPILER_MEASURE_TESTDATA_H

#include <random>
#include <string>

#include "absl/types/span.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune {

/// Normal numbers for floating types, zeros and ones for the others (they are
/// indices and masks, for which those are always in range). The view is in the
/// host's memory.
void fillRandom(TensorView &view, std::mt19937 &generator);

/// Why `actual` is not what `expected` is beyond rounding; empty when it is.
std::string compareResults(absl::Span<const TensorView> expected,
                           absl::Span<const TensorView> actual);

} // namespace aitune

#endif // AITUNE_COMPILER_MEASURE_TESTDATA_H
