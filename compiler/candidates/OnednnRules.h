// The kernels that oneDNN can run on a CPU.
#ifndef AITUNE_COMPILER_CANDIDATES_ONEDNNRULES_H
#define AITUNE_COMPILER_CANDIDATES_ONEDNNRULES_H

#include "compiler/candidates/LibraryCalls.h"

namespace aitune {

class OnednnRules : public LibraryRules {
public:
  std::string name() const override { return "onednn"; }
  absl::Status acceptElementTypes(mlir::Type lhs,
                                  mlir::Type rhs) const override;
  /// Accepts all that it is asked for. The matcher does not ask for relu and
  /// clamp, since oneDNN's do not keep NaN (clampsKeepNan).
  absl::Status
  acceptPostOps(absl::Span<const PostOp *const> postOps) const override;
  /// Refuses convolutions whose filter is known only at a call (KnownAt), for
  /// which oneDNN has no fast code, and what it has no code for on this
  /// machine.
  absl::Status acceptCall(const LibraryMatch &match,
                          mlir::func::FuncOp kernel) const override;
  std::vector<KernelImplementation>
  listCandidates(const KernelImplementation &implementation,
                 const LibraryMatch &match,
                 mlir::func::FuncOp kernel) const override;
};

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_ONEDNNRULES_H
