#include "compiler/schedule/OtherAlgorithms.h"

#include "compiler/codegen/cpu/contraction/Winograd.h"
#include "compiler/dialect/Ait.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace aitune {

namespace {

bool mayUseHalfVectors(ait::ConvolutionOp convolution, const Target &target) {
  auto filter = cast<RankedTensorType>(convolution.getFilter().getType());
  const int64_t groups = convolution.getGroups();
  if (!convolution.getChannelsLast() || filter.isDynamicDim(0))
    return false;
  const int64_t sumBits = filter.getElementType().isF64() ? 64 : 32;
  return aitune::mayUseHalfVectors(groups, filter.getDimSize(0) / groups,
                                   target.vectorBits / sumBits);
}

} // namespace

std::vector<OtherAlgorithm> listOtherAlgorithms(func::FuncOp kernel,
                                                const Target &target) {
  std::vector<OtherAlgorithm> algorithms;
  Builder builder(kernel.getContext());
  auto add = [&](StringRef name) {
    algorithms.push_back(
        {name.str(), builder.getDictionaryAttr(builder.getNamedAttr(
                         "algorithm", builder.getStringAttr(name)))});
  };
  for (auto convolution : kernel.getOps<ait::ConvolutionOp>()) {
    if (mayUseHalfVectors(convolution, target))
      add(getName(ConvolutionAlgorithm::DirectHalfVectors));
    for (ConvolutionAlgorithm algorithm : listWinogradAlternatives(convolution))
      add(getName(algorithm));
  }
  return algorithms;
}

} // namespace aitune
