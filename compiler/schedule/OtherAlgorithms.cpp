#include "compiler/schedule/OtherAlgorithms.h"

#include "compiler/codegen/cpu/contraction/Winograd.h"
#include "compiler/dialect/Ait.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace aitune {

std::vector<OtherAlgorithm> listOtherAlgorithms(func::FuncOp kernel) {
  std::vector<OtherAlgorithm> algorithms;
  Builder builder(kernel.getContext());
  for (auto convolution : kernel.getOps<ait::ConvolutionOp>())
    for (ConvolutionAlgorithm algorithm :
         listWinogradAlternatives(convolution)) {
      const StringRef name =
          ait::stringifyPackedLayout(getWinogradPacking(algorithm));
      algorithms.push_back(
          {name.str(), builder.getDictionaryAttr(builder.getNamedAttr(
                           "algorithm", builder.getStringAttr(name)))});
    }
  return algorithms;
}

} // namespace aitune
