// Makes inputs for measuring and judging kernels, and compares their results.
// Thread-safe.
#ifndef AITUNE_COMPILER_MEASURE_TESTDATA_H
#define AITUNE_COMPILER_MEASURE_TESTDATA_H

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune {

/// The numbers of a tensor, which may be far more than are worth making or
/// copying to a GPU one by one: a run of them, over and over, but for a few.
struct TestNumbers {
  DataType dtype;
  int64_t count = 0; ///< elements of the tensor
  /// The bytes of the first elements; after the last of them follows the first
  /// again. Empty only without elements.
  std::string run;
  /// Elements of a floating type that differ from it: position and number.
  std::vector<std::pair<int64_t, double>> others;
};

/// Those that fillRandom gives a tensor of the type and sizes of `shape`, whose
/// data is not read.
TestNumbers randomNumbers(const TensorView &shape, std::mt19937 &generator);
/// The same for fillExtreme.
TestNumbers extremeNumbers(const TensorView &shape, bool nonFinite,
                           std::mt19937 &generator);
/// As putNan of a tensor.
void putNan(TestNumbers &numbers);
/// A number of a floating type as it lies in memory.
std::string elementBytes(DataType dtype, double value);
/// Writes the numbers to a tensor of their type and count in the host's memory.
void writeNumbers(const TestNumbers &numbers, const TensorView &view);

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
