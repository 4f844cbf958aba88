// Recognises kernels that oneDNN can run: a matmul or convolution followed by
// pointwise operations that the library fuses as post-operations. What follows
// the last one it can fuse is split off as a loop kernel of its own, so that
// the library is a candidate for every matmul and convolution, not only for
// those whose epilogue it happens to know.
#ifndef AITUNE_COMPILER_CANDIDATES_LIBRARYCALLS_H
#define AITUNE_COMPILER_CANDIDATES_LIBRARYCALLS_H

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/plan/plan.pb.h"

namespace aitune {

struct LibraryMatch {
  /// matmul or convolution is set; the step's operands are not.
  Step call;
  /// Kernel arguments that the call reads: the two operands, then one for each
  /// post-operation that has an operand.
  std::vector<int> arguments;
  /// The type of the call's result.
  mlir::RankedTensorType resultType;
  /// The kernel's remaining operations as a function of kind "loop", placed
  /// after the kernel in its module; null when the library does all of it.
  /// restArguments[i] is the kernel argument its i-th argument stands for, -1
  /// for the call's result.
  mlir::func::FuncOp rest;
  std::vector<int> restArguments;
};

/// What a library can do beside the contraction.
struct LibraryRules {
  /// Why the library cannot apply these post-operations in one call, the last
  /// of which is asked about; empty when it can. Not set: it can.
  std::function<std::string(absl::Span<const PostOp *const>)> rejectPostOps;
  /// The library computes post-operations in f32, whatever the tensors: a
  /// widening between them is nothing to do. A factor for each column is a
  /// MULTIPLY with a vector.
  bool wideColumnFactors = false;
  /// Its relu and clamp keep NaN.
  bool clampsKeepNan = false;
  /// What `LibraryMatch::rest` is named after the kernel's name.
  std::string restSuffix = "_rest";
};

/// Matches `kernel` (outlined, before arithmetic is promoted). On failure
/// `reason` says what the library lacks.
std::optional<LibraryMatch> matchLibraryCall(mlir::func::FuncOp kernel,
                                             std::string &reason,
                                             const LibraryRules &rules = {});

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_LIBRARYCALLS_H
