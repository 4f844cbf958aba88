// What a generator of CUDA text gives back: the text and how to launch it.
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
  /// extern "C" name in the text; also launch.symbol().
  std::string symbol;
  std::vector<int> inputs, outputs;
  CudaKernelLaunch launch;
  std::vector<CheckProto> checks;
  /// Empty, or for each input how it is packed at load (kind NONE: as it is);
  /// only inputs that carry `ait.constant` are.
  std::vector<PackingProto> packings;
};

/// One way to run the kernel. Its steps run in order.
struct GeneratedCandidate {
  /// What tells it from the others, such as its tile: "mma 128x64x32, 3
  /// stages".
  std::string description;
  /// One CUDA translation unit with the kernels of all steps, complete in
  /// itself (no includes). The same input gives the same text.
  std::string text;
  std::vector<GeneratedStep> steps;
  std::vector<mlir::RankedTensorType> temporaries;
};

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_TEXT_GENERATEDCANDIDATE_H
