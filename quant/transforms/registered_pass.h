// The pass ait-quantize-layers by name, for tools that have a graph but no
// weights.
#ifndef AITUNE_QUANT_TRANSFORMS_REGISTERED_PASS_H_
#define AITUNE_QUANT_TRANSFORMS_REGISTERED_PASS_H_

namespace aitune::quant {

// Registers the pass with MLIR. What to do is its option `quantization`, as in
// --ait-quantize-layers=quantization=int8dq, and int8wo without it. The weights
// are made up, and new constants are numbered from 1000 on. What is told of the
// layers is written to the standard error, a line a layer. Call once.
void RegisterQuantizeLayers();

}  // namespace aitune::quant

#endif  // AITUNE_QUANT_TRANSFORMS_REGISTERED_PASS_H_
