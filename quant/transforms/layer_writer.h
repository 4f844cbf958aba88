// Writes the quantised form of layers into a graph.
#ifndef AITUNE_QUANT_TRANSFORMS_LAYER_WRITER_H_
#define AITUNE_QUANT_TRANSFORMS_LAYER_WRITER_H_

#include "compiler/dialect/Ait.h"
#include "llvm/ADT/DenseMap.h"
#include "quant/schemes/scheme.h"
#include "quant/transforms/quantized_weight.h"

namespace aitune::quant {

// For the layers of one graph, whose form ait-quantize-layers describes
// (Passes.td). Not thread-safe.
class LayerWriter {
 public:
  // Replaces `matmul`, a layer's product, by one with the codes of its weight,
  // whose constants have their numbers. Layers that read one input share its
  // codes, so that they must be quantised in one way.
  void Rewrite(mlir::ait::MatmulOp matmul, const Way& way,
               const QuantizedWeight& weight);

 private:
  // Codes and scales of the activations that some layers share.
  struct QuantizedInput {
    mlir::Value codes;  // ui8 or f8E4M3FN, the sizes of the input
    // f32: one a row, the input's sizes with the last one 1; or one, with all
    // sizes 1.
    mlir::Value scale;
  };

  const QuantizedInput& QuantizeInput(mlir::Value input, const Way& way,
                                      mlir::Location location);

  llvm::DenseMap<mlir::Value, QuantizedInput> inputs_;
};

}  // namespace aitune::quant

#endif  // AITUNE_QUANT_TRANSFORMS_LAYER_WRITER_H_
