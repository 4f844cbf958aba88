// The kernels that oneDNN can run on a CPU.
#ifndef AITUNE_COMPILER_CANDIDATES_ONEDNNRULES_H
#define AITUNE_COMPILER_CANDIDATES_ONEDNNRULES_H

#include "compiler/candidates/LibraryCalls.h"

namespace aitune {

class OnednnRules : public LibraryRules {
public:
  std::string name() const override { return "onednn"; }
  absl::Status acceptElementType(mlir::Type type) const override;
  /// Accepts all post-operations of the matcher except relu and clamp, which do
  /// not keep NaN (clampsKeepNan).
  absl::Status
  acceptPostOps(absl::Span<const PostOp *const> postOps) const override;
  /// Not convolutions whose filter is known only at a call, nor, with dynamic
  /// sizes, those that oneDNN has no code for on this machine.
  absl::Status acceptCall(const LibraryMatch &match,
                          mlir::func::FuncOp kernel) const override;
  std::vector<KernelImplementation>
  listCandidates(const KernelImplementation &implementation,
                 const LibraryMatch &match,
                 mlir::func::FuncOp kernel) const override;
};

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_ONEDNNRULES_H
