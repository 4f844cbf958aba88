// The result of a generator of CUDA text: the text, and how to launch it.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_TEXT_GENERATEDCANDIDATE_H
#define AITUNE_COMPILER_CODEGEN_GPU_TEXT_GENERATEDCANDIDATE_H

#include <string>
#include <vector>

#include "mlir/IR/BuiltinTypes.h"
#include "runtime/plan/plan.pb.h"

namespace aitune {

/// One launch. Operands are numbered: the kernel's inputs, then its results,
/// then the candidate's temporaries. The launch's parameters are those of
/// CudaKernelLaunch (plan.proto).
struct GeneratedStep {
  /// The extern "C" name in the text, which is also launch.symbol().
  std::string symbol;
  std::vector<int> inputs, outputs; ///< numbers of operands
  CudaKernelLaunch launch;
  std::vector<CheckProto> checks; ///< the checks that the kernel reports
  /// For each input, how it is packed at load (kind NONE: it is not); empty if
  /// none is. Only inputs with the attribute `ait.constant` are packed.
  std::vector<PackingProto> packings;
};

/// One way to run the kernel. Its steps run in order.
struct GeneratedCandidate {
  /// Distinguishes it from the other candidates, for example by its tile: "mma
  /// 128x64x32, 3 stages".
  std::string description;
  /// One CUDA translation unit with the kernels of all steps and without
  /// includes. The same input gives the same text.
  std::string text;
  std::vector<GeneratedStep> steps;
  /// The types of the tensors that one step writes and another reads.
  std::vector<mlir::RankedTensorType> temporaries;
};

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_TEXT_GENERATEDCANDIDATE_H
