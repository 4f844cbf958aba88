// Quantisation as a part of a compilation.
#ifndef AITUNE_COMPILER_DRIVER_QUANTIZELAYERS_H
#define AITUNE_COMPILER_DRIVER_QUANTIZELAYERS_H

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/Compiler.h"
#include "compiler/support/ConstantPool.h"
#include "mlir/Pass/PassManager.h"
#include "quant/options.h"
#include "quant/transforms/quantize_layers.h"

namespace aitune {

/// What is asked for, of a device that can do it.
struct AskedQuantization {
  quant::QuantizationOptions options;
  /// The GPU's compute capability; not set for a CPU.
  std::optional<quant::ComputeCapability> gpu;
};

/// options.quantization, once it is known that there are kernels for it:
/// kUnimplemented where there are none, naming what to ask for instead; as
/// quant::ParseQuantizationOptions and findGpu.
absl::StatusOr<AskedQuantization>
readQuantization(const CompileOptions &options);

/// Adds the passes that quantise layers of an imported module as `asked`, with
/// what is known of them. They read the weights in `pool`, add the codes to it,
/// and tell `result` of the layers (quantizedLayers); it and `known` must live
/// until they have run. `timer`, which may be empty, tells which layers it pays
/// for.
void addQuantizationPasses(mlir::OpPassManager &passManager,
                           const AskedQuantization &asked,
                           const LayerKnowledge &known, ConstantPool pool,
                           quant::LayerTimer timer, CompileResult &result);

/// kFailedPrecondition if the passes quantised no layer, but with
/// quant::Verdict::kOff.
absl::Status checkQuantized(const quant::QuantizationOptions &asked,
                            const CompileResult &result);

} // namespace aitune

#endif // AITUNE_COMPILER_DRIVER_QUANTIZELAYERS_H
