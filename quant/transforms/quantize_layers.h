// Linear layers of a graph in 8 bits, as a pass of the compiler.
#ifndef AITUNE_QUANT_TRANSFORMS_QUANTIZE_LAYERS_H_
#define AITUNE_QUANT_TRANSFORMS_QUANTIZE_LAYERS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "compiler/Compiler.h"
#include "compiler/dialect/Ait.h"
#include "compiler/support/ConstantPool.h"
#include "llvm/ADT/ArrayRef.h"
#include "mlir/Pass/Pass.h"
#include "quant/options.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune::quant {

// What layers take as they are and quantised, in microseconds.
struct LayerTimes {
  double microseconds = 0;
  double quantized_microseconds = 0;
  bool is_faster = false;  // quantised, beyond the noise of measuring
};

// Times layers that share an input, the product of which with their weights
// each of the operations is. Nothing: they can't be timed.
using LayerTimer = std::function<std::optional<LayerTimes>(
    llvm::ArrayRef<mlir::ait::MatmulOp> layers, const Way& way)>;

// What of `options` there are kernels for: all schemes with fused arithmetic
// and a scale a row, fp8dq also with a scale a tensor. `gpu` is not set for a
// CPU. As CheckDevice for fp8dq; kUnimplemented, naming the option and what to
// ask for instead, for the rest.
absl::Status CheckSupported(const QuantizationOptions& options,
                            const std::optional<ComputeCapability>& gpu);

// The pass ait-quantize-layers with `options`, for which CheckSupported is OK
// for `gpu`.
// Each layer that it looked at is told to `layer`, on the thread that runs the
// pass: the quantised ones, and those that were left alone with the reason.
// Weights of the layers are read from `pool` and stay in it: what nothing else
// refers to is no part of a plan. With Verdict::kOn a layer is left alone, too,
// whose codes are further from the weight than the scheme promises, or that
// `timer`, if there is one, finds to be not faster: layers that share an input
// are quantised together or not at all. Without a scheme in the options each
// such group has the fastest of the schemes that it may have; untimed, the
// first.
std::unique_ptr<mlir::Pass> CreateQuantizeLayers(
    QuantizationOptions options, const std::optional<ComputeCapability>& gpu,
    ConstantPool pool, LayerTimer timer,
    std::function<void(QuantizedLayer)> layer);

}  // namespace aitune::quant

#endif  // AITUNE_QUANT_TRANSFORMS_QUANTIZE_LAYERS_H_
