// The result of a generator of CUDA text: the text, and how to launch it.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_TEXT_GENERATEDCANDIDATE_H
#define AITUNE_COMPILER_CODEGEN_GPU_TEXT_GENERATEDCANDIDATE_H

#include <string>
#include <vector>

#include "compiler/support/ImplementationStep.h"
#include "mlir/IR/BuiltinTypes.h"

namespace aitune {

/// One way to run the kernel.
struct GeneratedCandidate {
  /// Distinguishes it from the other candidates, for example by its tile: "mma
  /// 128x64x32, 3 stages".
  std::string description;
  /// One CUDA translation unit with the kernels of all steps and without
  /// includes. The same input gives the same text.
  std::string text;
  /// The launches, which run in order. The call of each is a CudaKernelLaunch,
  /// whose symbol is an extern "C" name in the text.
  std::vector<ImplementationStep> steps;
  /// The types of the tensors that one step writes and another reads.
  std::vector<mlir::RankedTensorType> temporaries;
};

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_TEXT_GENERATEDCANDIDATE_H
