// Rewrites that quantise layers.
#ifndef AITUNE_QUANT_TRANSFORMS_PASSES_TD
#define AITUNE_QUANT_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def QuantizeLayers : Pass<"ait-quantize-layers", "mlir::func::FuncOp"> {
  let summary = "quantises the weights of linear layers to 8 bits";
  let description = [{
    A matmul with a constant weight becomes one with the weight's codes, of
    which new constants of the pool are made, and a factor for each column:
      int8wo, fp8wo: convert(matmul(x, codes) : f32 * scales)
      int8dq: convert(convert(matmul(q(x), codes) : i32 - sums : f32)
                      * scale(x) * scales)
      fp8dq: convert(matmul(q(x), codes) : f32 * scale(x) * scales)
    where q(x) are the codes of the activations and scale(x) one factor for each
    row, or one for all. The codes of int8dq are unsigned, the signed code plus
    128 (what a CPU's dot products of bytes multiply); `sums` is 128 times the
    sum of each column's codes. Layers with one input share its codes. Runs
    while every layer is still itself: before matmuls are merged.
  }];
  // Made with the pool, which no text of a pipeline can give; see
  // registered_pass.h.
  let constructor = "nullptr";
  let dependentDialects = ["mlir::ait::AitDialect"];
}

#endif // AITUNE_QUANT_TRANSFORMS_PASSES_TD
