// Recognises kernels that a library can run: a matmul or a convolution, and the
// first of the pointwise operations after it that the library applies in the
// same call (post-operations). The other operations become a loop kernel of
// their own, so that a library is a candidate for any matmul and convolution,
// whatever operations follow it.
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

/// A kernel as a call of a library and the operations that the call leaves.
struct LibraryMatch {
  /// A step of the plan with `matmul` or `convolution`, without operands.
  Step call;
  /// The numbers of the kernel's arguments that the call reads: the two
  /// operands of the contraction, then one for each post-operation with an
  /// operand.
  std::vector<int> arguments;
  /// The type of the call's result.
  mlir::RankedTensorType resultType;
  /// The operations after the call as a loop kernel, placed after the kernel in
  /// its module; null if there are none.
  mlir::func::FuncOp rest;
  /// For each argument of `rest`, the number of the kernel's argument that it
  /// is; -1 for the result of the call.
  std::vector<int> restArguments;
};

/// The part of a kernel that one library can run, and its candidates for it.
/// matchLibraryCall asks these rules. A new library is one more implementation,
/// which a target lists (CompilationTarget::libraries). Functions that return a
/// status return kUnimplemented with the name of the library and what it lacks.
class LibraryRules {
public:
  virtual ~LibraryRules() = default;

  /// The name of the library's candidates, such as "onednn".
  virtual std::string name() const = 0;
  /// The name of LibraryMatch::rest is the kernel's with this suffix.
  virtual std::string restSuffix() const { return "_rest"; }

  /// OK if the library computes contractions of tensors with these element
  /// types. Where their format has scales (OperandFormat::lhsScale, rhsScale),
  /// the library must multiply the sums with them before it rounds to the type
  /// of the conversion that follows. Its post-operations then begin with them,
  /// as PostOp::MULTIPLY, those of the left side first.
  virtual absl::Status acceptElementTypes(mlir::Type lhs,
                                          mlir::Type rhs) const = 0;
  /// OK if the library applies these post-operations in the same call. All but
  /// the last were accepted before. Without the scales of the operands.
  virtual absl::Status
  acceptPostOps(absl::Span<const PostOp *const> postOps) const = 0;
  /// OK if the library should run `kernel`. Asked last; `match` then has `call`
  /// and `arguments`.
  virtual absl::Status acceptCall(const LibraryMatch &match,
                                  mlir::func::FuncOp kernel) const = 0;
  /// Whether the library computes post-operations in f32 for any element type,
  /// so that a conversion to f32 between them needs no operation, and
  /// multiplies by a vector with a factor for each column.
  virtual bool widensPostOps() const { return false; }
  /// Whether the library's relu and clamp keep NaN, as eager's do. If not, the
  /// matcher leaves these operations to LibraryMatch::rest.
  virtual bool clampsKeepNan() const { return false; }

  /// The library's candidates, the most promising first. Each is a copy of
  /// `implementation`, whose first step is the call and whose other steps are
  /// LibraryMatch::rest, with the fields set that the library needs, such as
  /// the number of an algorithm.
  virtual std::vector<KernelImplementation>
  listCandidates(const KernelImplementation &implementation,
                 const LibraryMatch &match,
                 mlir::func::FuncOp kernel) const = 0;
  /// Loads the library, so that its first call does not wait for that.
  /// Thread-safe.
  virtual void load() const {}
};

/// OK where both are f32, bf16 or f16. kUnimplemented for other types, with the
/// library's name `library`.
absl::Status acceptFloatingPoint(mlir::Type lhs, mlir::Type rhs,
                                 const char *library);

/// Matches `kernel`, an outlined function before ait-promote-kernel-arithmetic,
/// with the calls that `rules` accept. kUnimplemented says what the library
/// lacks. Not thread-safe: it may add a function to the kernel's module.
absl::StatusOr<LibraryMatch> matchLibraryCall(mlir::func::FuncOp kernel,
                                              const LibraryRules &rules);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_LIBRARYCALLS_H
