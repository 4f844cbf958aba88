#include "compiler/codegen/gpu/Generate.h"

#include "absl/status/status.h"
#include "compiler/codegen/gpu/contraction/AttentionKernel.h"
#include "compiler/codegen/gpu/contraction/ConvolutionKernel.h"
#include "compiler/codegen/gpu/contraction/MatmulKernel.h"
#include "compiler/codegen/gpu/loops/LoopKernel.h"
#include "compiler/dialect/KernelAttributes.h"
#include "runtime/status/status_macros.h"

using namespace mlir;

namespace aitune {

absl::StatusOr<std::vector<GeneratedCandidate>>
generateCuda(func::FuncOp kernel, ArrayAttr symbols, const GpuTarget &target) {
  const std::optional<mlir::ait::KernelKind> kind =
      mlir::ait::getKernelKind(kernel);
  if (!kind)
    return absl::InvalidArgumentError("@" + kernel.getSymName().str() +
                                      " is no kernel: it lacks ait.kind");
  switch (*kind) {
  case mlir::ait::KernelKind::Loop: {
    AITUNE_ASSIGN_OR_RETURN(GeneratedCandidate loop,
                            generateLoopKernel(kernel, symbols, target));
    std::vector<GeneratedCandidate> candidates;
    candidates.push_back(std::move(loop));
    return candidates;
  }
  case mlir::ait::KernelKind::Matmul:
    return generateMatmul(kernel, symbols, target);
  case mlir::ait::KernelKind::Convolution:
    return generateConvolution(kernel, symbols, target);
  case mlir::ait::KernelKind::Attention:
    return generateAttention(kernel, symbols, target);
  }
  llvm_unreachable("all kinds have a generator");
}

absl::StatusOr<std::vector<Schedule>>
listCudaSchedules(func::FuncOp kernel, ArrayAttr symbols,
                  const GpuTarget &target) {
  const std::optional<mlir::ait::KernelKind> kind =
      mlir::ait::getKernelKind(kernel);
  if (!kind)
    return std::vector<Schedule>();
  switch (*kind) {
  case mlir::ait::KernelKind::Loop:
    return std::vector<Schedule>(); // loops have no parameters
  case mlir::ait::KernelKind::Matmul:
    return listMatmulTiles(kernel, symbols, target);
  case mlir::ait::KernelKind::Convolution:
    return listConvolutionTiles(kernel, symbols, target);
  case mlir::ait::KernelKind::Attention:
    return listAttentionShapes(kernel, symbols, target);
  }
  llvm_unreachable("all kinds list their schedules");
}

} // namespace aitune
