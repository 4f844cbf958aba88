// What oneDNN runs of a kernel on a CPU.
#ifndef AITUNE_COMPILER_CANDIDATES_ONEDNNRULES_H
#define AITUNE_COMPILER_CANDIDATES_ONEDNNRULES_H

#include "compiler/candidates/LibraryCalls.h"

namespace aitune {

class OnednnRules : public LibraryRules {
public:
  std::string name() const override { return "onednn"; }
  absl::Status acceptElementType(mlir::Type type) const override;
  /// All that the matcher has, but not relu and clamp (clampsKeepNan).
  absl::Status
  acceptPostOps(absl::Span<const PostOp *const> postOps) const override;
  /// Not convolutions whose filter is known only at a call.
  absl::Status acceptCall(const LibraryMatch &match,
                          mlir::func::FuncOp kernel) const override;
  std::vector<KernelImplementation>
  listCandidates(const KernelImplementation &implementation,
                 const LibraryMatch &match,
                 mlir::func::FuncOp kernel) const override;
};

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_ONEDNNRULES_H
