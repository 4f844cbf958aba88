// The right results of a kernel, computed independently of all that generates
// code for it.
//
// The operations of a kernel function are computed one by one, by their
// definitions, in float64 and int64 and in plain loops. Nothing is shared with
// the code generators and the libraries, so that their mistakes are not
// repeated. Only some elements of each result are computed, and of the other
// tensors the elements that those need.
//
// Each element has a bound of the distance that a right kernel's element may
// have from it. The bound follows the roundings of all operations, in the types
// in which kernels compute and store, through the operations that read their
// results; for a sum it grows with the number and the magnitudes of the terms.
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

/// An element of a tensor and the bound of its error.
struct ReferenceElement {
  double number = 0;   ///< the value, if the type is floating
  int64_t integer = 0; ///< the value, if it is an integer or a bool
  /// The greatest distance of a right element from this one. Infinite if any
  /// element is right, because the result depends on the order of operations:
  /// whether a sum overflows, which of two almost equal numbers is greater.
  double error = 0;
};

struct ReferenceOptions {
  /// Whether products and convolutions of fp32 may round their operands to
  /// tf32 (CompileOptions).
  bool tf32Matmul = false, tf32Convolution = false;
  /// The number of elements to compute of each result. Of a result with more
  /// elements these are the corners, both ends and runs at random places.
  int64_t samples = 1000;
  /// The most elements of intermediate values to compute; sixteen products of
  /// two elements that are in memory count as one element.
  int64_t most = int64_t{1} << 23;
};

/// The elements of one result of a kernel that were computed.
struct ReferenceResult {
  /// The elements' positions in row-major order, ascending.
  std::vector<int64_t> positions;
  std::vector<ReferenceElement> elements;
};

/// The results of `kernel`, a function of `ait` operations. `arguments` are its
/// arguments in order, dense and in the host's memory, with the sizes of their
/// types; `symbols` are the values of the module's symbols. kUnimplemented
/// names an operation that the reference does not know; kResourceExhausted says
/// that not one element of a result could be computed within options.most. Only
/// reads `kernel`. Thread-safe.
absl::StatusOr<std::vector<ReferenceResult>> computeReference(
    mlir::func::FuncOp kernel, absl::Span<const TensorView> arguments,
    absl::Span<const int64_t> symbols, const ReferenceOptions &options);

/// The content of a result's memory: all elements, or only those of
/// ReferenceResult::positions, one after the other.
enum class ResultMemory { Whole, Samples };

/// Why `actual`, the results of a run with their whole sizes, are not right;
/// empty if they are. `memory` has an entry for each result; if it is empty,
/// all are Whole.
std::string compareWithReference(absl::Span<const ReferenceResult> expected,
                                 absl::Span<const TensorView> actual,
                                 absl::Span<const ResultMemory> memory = {});

/// The number of computed elements, and of those that have a finite error.
struct ReferenceCoverage {
  int64_t known = 0, sampled = 0;
};
ReferenceCoverage coverageOf(absl::Span<const ReferenceResult> results);

/// The sizes of `type` for these values of the symbols.
std::vector<int64_t> evaluateSizes(mlir::RankedTensorType type,
                                   absl::Span<const int64_t> symbols);

} // namespace aitune

#endif // AITUNE_COMPILER_REFERENCE_REFERENCE_H
