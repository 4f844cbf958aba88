// Linear layers of a graph in 8 bits, as a pass of the compiler.
#ifndef AITUNE_QUANT_TRANSFORMS_QUANTIZE_LAYERS_H_
#define AITUNE_QUANT_TRANSFORMS_QUANTIZE_LAYERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
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

// What a layer multiplies its weight with in real calls, by the number of the
// weight: float32 [rows, K]. Null: not known.
using LayerInputs = std::function<const ConstantTensor*(int64_t weight)>;

// What the pass works with. All but `pool` and `told` may be empty.
struct QuantizationContext {
  // The GPU that the model is for; not set for a CPU.
  std::optional<ComputeCapability> gpu;
  // The pool of the weights, which stay in it: what nothing else refers to is
  // no part of a plan. The codes are added to it.
  ConstantPool pool;
  LayerTimer timer;
  LayerInputs inputs;
  // Layers with schemes that they are not to have, as the model was too far
  // from eager with them.
  LayersWithSchemes dropped;
  // Those that they are not to have as the model was no faster with them, and
  // what it took.
  std::map<std::pair<std::string, std::string>, std::string> slow;
  // The weights, by their numbers, that LibTorch multiplies with too, and why
  // it does: not all uses of their layers would be quantised.
  std::map<int64_t, std::string> elsewhere;
  // The TorchScript class of each module, by its path; none: not known.
  std::map<std::string, std::string> classes;
  // The paths of all modules that hold the same tensor, by the name of one's
  // parameter `weight`.
  std::map<std::string, std::vector<std::string>> holders;
  // The codes and scales that weights were made of (QuantizeWeight), by their
  // names.
  std::map<std::string, ConstantTensor> codes;
  // Told each layer that the pass looked at, on the thread that runs it: the
  // quantised ones, and those that were left alone with the reason.
  std::function<void(QuantizedLayer)> told;
};

// What of `options` there are kernels for: all schemes with fused arithmetic
// and a scale a row, fp8dq also with a scale a tensor. `gpu` is not set for a
// CPU. As CheckDevice for fp8dq; kUnimplemented, naming the option and what to
// ask for instead, for the rest.
absl::Status CheckSupported(const QuantizationOptions& options,
                            const std::optional<ComputeCapability>& gpu);

// The pass ait-quantize-layers with `options`, for which CheckSupported is OK
// for the context's GPU. With Verdict::kOn a layer is left alone, too, whose
// codes are further from the weight than the scheme promises, whose results for
// its inputs are further from those without quantisation (layer_error.h), or
// that the timer finds to be not faster: layers that share an input are
// quantised together or not at all. Without a scheme in the options each such
// group has the fastest of the schemes that it may have; untimed, the first.
std::unique_ptr<mlir::Pass> CreateQuantizeLayers(QuantizationOptions options,
                                                 QuantizationContext context);

}  // namespace aitune::quant

#endif  // AITUNE_QUANT_TRANSFORMS_QUANTIZE_LAYERS_H_
