// Makes inputs for measuring and judging kernels, and compares their results.
// Thread-safe.
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

/// Fills a tensor with numbers on which code often goes wrong. Floating types
/// get zeros, normal numbers, numbers of magnitudes from 1e-6 to 1e3, ones and
/// numbers halfway between integers; with `nonFinite` and at least 64 elements
/// also one NaN and one infinity of each sign. Bools, int8 and uint8 get any of
/// their values, longer integers -4 to 12, which as indices are often out of
/// range. The view is in the host's memory.
void fillExtreme(TensorView &view, bool nonFinite, std::mt19937 &generator);

/// Makes the first element NaN, if there is an element and its type has NaN.
/// The view is in the host's memory.
void putNan(TensorView &view);

/// Compares results of the same sizes in the host's memory. Empty if no element
/// differs by more than rounding explains: 1e-9 (float64), 1e-3 (float32) or
/// 0.1 (other floats) of itself or, where that is greater, of the root mean
/// square of `expected`. Otherwise a text that names the result. Integers are
/// not compared.
std::string compareResults(absl::Span<const TensorView> expected,
                           absl::Span<const TensorView> actual);

} // namespace aitune

#endif // AITUNE_COMPILER_MEASURE_TESTDATA_H
