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

/// Asks oneDNN for the largest sizes of a model with dynamic ones. Others are
/// asked for when a candidate is loaded.
absl::Status acceptLargest(const LibraryMatch &match, func::FuncOp kernel) {
  auto module = kernel->getParentOfType<ModuleOp>();
  ArrayAttr symbols = module ? ait::getModuleSymbols(module) : ArrayAttr();
  if (!symbols || symbols.empty())
    return absl::OkStatus();
  SmallVector<int64_t> largest;
  for (auto symbol : symbols.getAsRange<DictionaryAttr>())
    largest.push_back(symbol.getAs<IntegerAttr>("max").getInt());
  std::vector<LibraryOperand> operands;
  for (auto [operand, argument] : llvm::enumerate(match.arguments))
    operands.push_back({viewOf(kernel.getArgument(argument).getType(), largest),
                        operand == 1 ? 0 : -1});
  const absl::Status supported = Supports(match.call.convolution(), operands,
                                          viewOf(match.resultType, largest));
  // Sizes need not go together at all upper ends.
  return absl::IsUnimplemented(supported) ? supported : absl::OkStatus();
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
  return acceptLargest(match, kernel);
}

std::vector<KernelImplementation>
OnednnRules::listCandidates(const KernelImplementation &implementation,
                            const LibraryMatch &, func::FuncOp) const {
  KernelImplementation candidate = implementation;
  candidate.name = name();
  return {std::move(candidate)};
}

} // namespace aitune
