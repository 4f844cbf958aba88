#include "compiler/candidates/OnednnRules.h"

#include "compiler/dialect/KernelAttributes.h"

using namespace mlir;

namespace aitune {
absl::Status OnednnRules::acceptElementType(Type type) const {
  return acceptFloatingPoint(type, "oneDNN");
}

absl::Status OnednnRules::acceptPostOps(absl::Span<const PostOp *const>) const {
  return absl::OkStatus();
}

absl::Status OnednnRules::acceptCall(const LibraryMatch &match,
                                     func::FuncOp kernel) const {
  if (match.call.has_convolution() &&
      ait::getKnownAt(kernel, match.arguments[1]) == ait::KnownAt::Call)
    return absl::UnimplementedError(
        "the filter is no constant, which oneDNN has no fast code for");
  return absl::OkStatus();
}

std::vector<KernelImplementation>
OnednnRules::listCandidates(const KernelImplementation &implementation,
                            const LibraryMatch &, func::FuncOp) const {
  KernelImplementation candidate = implementation;
  candidate.name = name();
  return {std::move(candidate)};
}

} // namespace aitune
