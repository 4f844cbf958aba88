// Linear layers of a graph in 8 bits, as a pass of the compiler.
#ifndef AITUNE_QUANT_TRANSFORMS_QUANTIZE_LAYERS_H_
#define AITUNE_QUANT_TRANSFORMS_QUANTIZE_LAYERS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "compiler/Compiler.h"
#include "compiler/support/ConstantPool.h"
#include "mlir/Pass/Pass.h"
#include "quant/options.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune::quant {

// What of `options` there are kernels for on the CPU: int8wo and int8dq, with a
// scale a row and fused arithmetic. As CheckDevice for fp8dq; kUnimplemented,
// naming the option and what to ask for instead, for the rest.
absl::Status CheckSupported(const QuantizationOptions& options);

// The pass ait-quantize-layers with `options`, for which CheckSupported is OK.
// Each layer that it looked at is told to `layer`, on the thread that runs the
// pass: the quantised ones, and those that were left alone with the reason.
// Weights of the layers are read from `pool` and stay in it: what nothing else
// refers to is no part of a plan. With Verdict::kOn a layer is left alone, too,
// whose codes are further from the weight than the scheme promises.
std::unique_ptr<mlir::Pass> CreateQuantizeLayers(
    QuantizationOptions options, ConstantPool pool,
    std::function<void(QuantizedLayer)> layer);

}  // namespace aitune::quant

#endif  // AITUNE_QUANT_TRANSFORMS_QUANTIZE_LAYERS_H_
