#include "compiler/codegen/gpu/Generate.h"

#include "absl/status/status.h"
#include "compiler/codegen/gpu/contraction/AttentionKernel.h"
#include "compiler/codegen/gpu/contraction/ConvolutionKernel.h"
#include "compiler/codegen/gpu/contraction/MatmulKernel.h"
#include "compiler/codegen/gpu/loops/LoopKernel.h"

using namespace mlir;

namespace aitune {

absl::StatusOr<std::vector<GeneratedCandidate>>
generateCuda(func::FuncOp kernel, ArrayAttr symbols, const GpuTarget &target) {
  auto kind = kernel->getAttrOfType<StringAttr>("ait.kind");
  std::vector<GeneratedCandidate> candidates;
  if (kind && kind.getValue() == "loop") {
    absl::StatusOr<GeneratedCandidate> loop =
        generateLoopKernel(kernel, symbols, target);
    if (!loop.ok())
      return loop.status();
    candidates.push_back(std::move(*loop));
    return candidates;
  }
  if (kind && kind.getValue() == "matmul")
    return generateMatmul(kernel, symbols, target);
  if (kind && kind.getValue() == "attention")
    return generateAttention(kernel, symbols, target);
  if (kind && kind.getValue() == "convolution")
    return generateConvolution(kernel, symbols, target);
  return absl::UnimplementedError(
      "no CUDA generator for kernels of kind '" +
      (kind ? kind.getValue().str() : std::string("none")) + "'");
}

absl::StatusOr<CudaSchedules> listCudaSchedules(func::FuncOp kernel,
                                                ArrayAttr symbols,
                                                const GpuTarget &target) {
  auto kind = kernel->getAttrOfType<StringAttr>("ait.kind");
  if (kind && kind.getValue() == "matmul")
    return listMatmulTiles(kernel, symbols, target);
  if (kind && kind.getValue() == "convolution")
    return listConvolutionTiles(kernel, symbols, target);
  if (kind && kind.getValue() == "attention")
    return listAttentionShapes(kernel, symbols, target);
  return CudaSchedules();
}

} // namespace aitune
