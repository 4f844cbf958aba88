// Makes inputs for measuring kernels, and compares the kernels' results.
#ifndef AITUNE_COMPILER_MEASURE_TESTDATA_H
#define AITUNE_COMPILER_MEASURE_TESTDATA_H

#include <random>
#include <string>

#include "absl/types/span.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune {

/// Fills a tensor with normal random numbers if it is floating-point, otherwise
/// with zeros and ones (integers are usually indices and masks, for which zero
/// and one are in range). The view is in the host's memory.
void fillRandom(TensorView &view, std::mt19937 &generator);

/// Zeros, large, small and normal numbers, and such that rounding decides on,
/// for floating types, with one NaN and one infinity of each sign if
/// `nonFinite`; numbers of either sign for integers: as indices they are out of
/// range, too. The view is in the host's memory.
void fillExtreme(TensorView &view, bool nonFinite, std::mt19937 &generator);

/// Makes the first element NaN, if there is one and the type has it. The view
/// is in the host's memory.
void putNan(TensorView &view);

/// How `actual` differs from `expected` beyond rounding; empty if it does not.
std::string compareResults(absl::Span<const TensorView> expected,
                           absl::Span<const TensorView> actual);

} // namespace aitune

#endif // AITUNE_COMPILER_MEASURE_TESTDATA_H
