// Recognises kernels that a library can run: a matmul or convolution followed
// by pointwise operations that the library fuses as post-operations. What
// follows the last one it can fuse is split off as a loop kernel of its own, so
// that the library is a candidate for every matmul and convolution, not only
// for those whose epilogue it happens to know.
#ifndef AITUNE_COMPILER_CANDIDATES_LIBRARYCALLS_H
#define AITUNE_COMPILER_CANDIDATES_LIBRARYCALLS_H

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/dialect/Ait.h"
#include "compiler/plan/KernelImplementation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/plan/plan.pb.h"
#include "llvm/ADT/ArrayRef.h"

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

/// What one library can run of a kernel, and the candidates that it has for it.
/// A matcher of kernels (matchLibraryCall) asks it; a new library is one
/// implementation, which its target lists (CompilationTarget::libraries).
/// Errors, all kUnimplemented, say in the library's name what it lacks.
class LibraryRules {
public:
  virtual ~LibraryRules() = default;

  /// The candidates' name: "onednn".
  virtual std::string name() const = 0;
  /// What `LibraryMatch::rest` is named after the kernel's name.
  virtual std::string restSuffix() const { return "_rest"; }

  /// OK if the library computes contractions of tensors of this element type.
  virtual absl::Status acceptElementType(mlir::Type type) const = 0;
  /// OK if the library applies these post-operations in the same call. All but
  /// the last were accepted before.
  virtual absl::Status
  acceptPostOps(absl::Span<const PostOp *const> postOps) const = 0;
  /// Whether to run the matched `kernel`; asked last, with `call` and
  /// `arguments` set.
  virtual absl::Status acceptCall(const LibraryMatch &match,
                                  mlir::func::FuncOp kernel) const = 0;
  /// Post-operations are computed in f32, whatever the tensors: a widening
  /// between them is nothing to do. A factor for each column is a MULTIPLY with
  /// a vector.
  virtual bool widensPostOps() const { return false; }
  /// Whether relu and clamp keep NaN, as in eager.
  virtual bool clampsKeepNan() const { return false; }

  /// The library's candidates: copies of `implementation`, whose first step is
  /// the call and whose other steps are the rest, with the fields set that the
  /// library needs, such as the algorithm.
  virtual std::vector<KernelImplementation>
  listCandidates(const KernelImplementation &implementation,
                 const LibraryMatch &match,
                 mlir::func::FuncOp kernel) const = 0;
  /// Loads the library, so that the first call need not wait for it.
  /// Thread-safe.
  virtual void load() const {}
};

/// OK for f32, bf16 and f16; for others what `library`, a name for people,
/// lacks.
absl::Status acceptFloatingPoint(mlir::Type type, const char *library);

/// Matches `kernel` (outlined, before arithmetic is promoted) with what `rules`
/// take. kUnimplemented says what the library lacks.
absl::StatusOr<LibraryMatch> matchLibraryCall(mlir::func::FuncOp kernel,
                                              const LibraryRules &rules);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_LIBRARYCALLS_H
