#include "compiler/candidates/OnednnRules.h"

#include "compiler/dialect/ElementTypes.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/reference/Reference.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/cpu/onednn_library.h"

using namespace mlir;

namespace aitune {
namespace {

TensorView viewOf(Type type, ArrayRef<int64_t> symbols) {
  auto tensor = cast<RankedTensorType>(type);
  return {nullptr, *ait::toDataType(tensor.getElementType()),
          evaluateSizes(tensor, symbols)};
}

/// Asks oneDNN for the largest and the smallest sizes of a model with dynamic
/// ones; sizes that depend on several symbols may go together at one end alone.
/// Others are asked for when a candidate is loaded.
absl::Status acceptEnds(const LibraryMatch &match, func::FuncOp kernel) {
  auto module = kernel->getParentOfType<ModuleOp>();
  ArrayAttr symbols = module ? ait::getModuleSymbols(module) : ArrayAttr();
  if (!symbols || symbols.empty())
    return absl::OkStatus();
  for (StringRef end : {"max", "min"}) {
    SmallVector<int64_t> sizes;
    for (auto symbol : symbols.getAsRange<DictionaryAttr>())
      sizes.push_back(
          std::max<int64_t>(symbol.getAs<IntegerAttr>(end).getInt(), 1));
    std::vector<LibraryOperand> operands;
    for (auto [operand, argument] : llvm::enumerate(match.arguments))
      operands.push_back({viewOf(kernel.getArgument(argument).getType(), sizes),
                          operand == 1 ? 0 : -1});
    const absl::Status supported = Supports(match.call.convolution(), operands,
                                            viewOf(match.resultType, sizes));
    if (absl::IsUnimplemented(supported))
      return supported;
  }
  return absl::OkStatus();
}

} // namespace

absl::Status OnednnRules::acceptElementTypes(Type lhs, Type rhs) const {
  return acceptFloatingPoint(lhs, rhs, "oneDNN");
}

absl::Status OnednnRules::acceptPostOps(absl::Span<const PostOp *const>) const {
  return absl::OkStatus();
}

absl::Status OnednnRules::acceptCall(const LibraryMatch &match,
                                     func::FuncOp kernel) const {
  if (!match.call.has_convolution())
    return absl::OkStatus();
  if (ait::getKnownAt(kernel, match.arguments[1]) == ait::KnownAt::Call)
    return absl::UnimplementedError(
        "the filter is no constant, which oneDNN has no fast code for");
  return acceptEnds(match, kernel);
}

std::vector<KernelImplementation>
OnednnRules::listCandidates(const KernelImplementation &implementation,
                            const LibraryMatch &, func::FuncOp) const {
  KernelImplementation candidate = implementation;
  candidate.name = name();
  return {std::move(candidate)};
}

} // namespace aitune
