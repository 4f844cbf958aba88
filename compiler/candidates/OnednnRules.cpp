#include "compiler/candidates/OnednnRules.h"

using namespace mlir;

namespace aitune {
namespace {

/// Whether `value` is computed from constants alone, so that a plan computes it
/// once.
bool isConstant(Value value) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<ait::ConstantOp, ait::ReshapeOp, ait::LaunchOp>(op) ||
      !cast<RankedTensorType>(value.getType()).hasStaticShape())
    return false;
  return llvm::all_of(op->getOperands(),
                      [](Value operand) { return isConstant(operand); });
}

} // namespace

absl::Status OnednnRules::acceptElementType(Type type) const {
  return acceptFloatingPoint(type, "oneDNN");
}

absl::Status OnednnRules::acceptPostOps(absl::Span<const PostOp *const>) const {
  return absl::OkStatus();
}

absl::Status OnednnRules::acceptCall(const LibraryMatch &match,
                                     ArrayRef<ait::LaunchOp> launches) const {
  if (!match.call.has_convolution())
    return absl::OkStatus();
  for (ait::LaunchOp launch : launches)
    if (!isConstant(launch.getInputs()[match.arguments[1]]))
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
