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

/// Asks oneDNN whether it has code for the call on this machine: bfloat16 needs
/// AVX-512, for one. Of a model with dynamic sizes the largest and the smallest
/// are asked for; sizes that depend on several symbols may go together at one
/// end alone, and be negative where they never go together. Others are asked
/// for when a candidate is loaded.
absl::Status acceptOnThisMachine(const LibraryMatch &match,
                                 func::FuncOp kernel) {
  auto module = kernel->getParentOfType<ModuleOp>();
  ArrayAttr symbols = module ? ait::getModuleSymbols(module) : ArrayAttr();
  SmallVector<StringRef> ends = {"max"};
  if (symbols && !symbols.empty())
    ends.push_back("min");
  for (StringRef end : ends) {
    SmallVector<int64_t> sizes;
    if (symbols)
      for (auto symbol : symbols.getAsRange<DictionaryAttr>())
        sizes.push_back(
            std::max<int64_t>(symbol.getAs<IntegerAttr>(end).getInt(), 1));
    std::vector<LibraryOperand> operands;
    for (auto [operand, argument] : llvm::enumerate(match.arguments))
      operands.push_back(
          {viewOf(kernel.getArgument(argument).getType(), sizes),
           ait::getKnownAt(kernel, argument) == ait::KnownAt::Call
               ? -1
               : static_cast<int>(operand)});
    const TensorView result = viewOf(match.resultType, sizes);
    auto hasSizes = [](const TensorView &view) {
      return llvm::all_of(view.sizes, [](int64_t size) { return size >= 0; });
    };
    if (!hasSizes(result) ||
        !llvm::all_of(operands, [&](const LibraryOperand &operand) {
          return hasSizes(operand.view);
        }))
      continue;
    const absl::Status supported =
        match.call.has_convolution()
            ? Supports(match.call.convolution(), operands, result)
            : Supports(match.call.matmul(), operands, result);
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
  if (match.call.has_convolution() &&
      ait::getKnownAt(kernel, match.arguments[1]) == ait::KnownAt::Call)
    return absl::UnimplementedError(
        "the filter is no constant, which oneDNN has no fast code for");
  return acceptOnThisMachine(match, kernel);
}

std::vector<KernelImplementation>
OnednnRules::listCandidates(const KernelImplementation &implementation,
                            const LibraryMatch &, func::FuncOp) const {
  KernelImplementation candidate = implementation;
  candidate.name = name();
  return {std::move(candidate)};
}

} // namespace aitune
