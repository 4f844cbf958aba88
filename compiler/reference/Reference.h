// What a kernel computes, independent of all that generates code for it.
//
// The operations of a kernel function are computed one by one, each as its name
// says, in float64 and int64 and in plain loops: nothing of the code generators
// and of the libraries is in here, so that a mistake of theirs is not repeated.
// Only some elements of each result are computed, with what they need; a large
// product costs its sampled elements alone.
//
// Beside each element stands how far a right kernel may be from it: the
// roundings of its operations in the types that it computes and stores in,
// passed on through the operations that read them, and for sums a bound of
// their length and of the sum of their terms' magnitudes.
#ifndef AITUNE_COMPILER_REFERENCE_REFERENCE_H
#define AITUNE_COMPILER_REFERENCE_REFERENCE_H

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune {

/// An element of a tensor: `number` of a floating type, `integer` of an integer
/// or a bool.
struct ReferenceElement {
  double number = 0;
  int64_t integer = 0;
  /// How far a right result may be from it; infinite where any result is right
  /// (the order of operations decides whether something overflows, which of two
  /// almost equal numbers is the greatest).
  double error = 0;
};

struct ReferenceOptions {
  /// Whether products and convolutions of fp32 may round their operands to
  /// tf32 (CompileOptions).
  bool tf32Matmul = false, tf32Convolution = false;
  /// Elements of each result: all of a small one, else the corners, both ends
  /// and runs at random places.
  int64_t samples = 1000;
  /// Elements of intermediate values that may be computed; a product of two
  /// elements in memory counts as one of sixteen.
  int64_t most = int64_t{1} << 23;
};

/// What is right of one result of a kernel.
struct ReferenceResult {
  /// Of the result's elements in row-major order, ascending.
  std::vector<int64_t> positions;
  std::vector<ReferenceElement> elements;
};

/// The results of `kernel`, a function of `ait` operations, for `arguments`
/// (one an argument, dense, in the host's memory; sizes from the types) and the
/// values of the module's symbols. kUnimplemented names an operation that is
/// not known here, kResourceExhausted says that not even one element of a
/// result is cheap enough. Reads `kernel` only; thread-safe.
absl::StatusOr<std::vector<ReferenceResult>> computeReference(
    mlir::func::FuncOp kernel, absl::Span<const TensorView> arguments,
    absl::Span<const int64_t> symbols, const ReferenceOptions &options);

/// What a result's memory holds: all elements, or the sampled ones alone, one
/// behind the other.
enum class ResultMemory { Whole, Samples };

/// Why `actual`, the results of a run (with their whole sizes), are not right;
/// empty when they are. `memory` has one entry a result, or none: all whole.
std::string compareWithReference(absl::Span<const ReferenceResult> expected,
                                 absl::Span<const TensorView> actual,
                                 absl::Span<const ResultMemory> memory = {});

/// The sampled elements that have a finite error, of all.
struct ReferenceCoverage {
  int64_t known = 0, sampled = 0;
};
ReferenceCoverage coverageOf(absl::Span<const ReferenceResult> results);

/// The sizes of `type`, which every dynamic size gets from `symbols`.
std::vector<int64_t> evaluateSizes(mlir::RankedTensorType type,
                                   absl::Span<const int64_t> symbols);

} // namespace aitune

#endif // AITUNE_COMPILER_REFERENCE_REFERENCE_H
