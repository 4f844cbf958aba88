// The error that quantising a layer makes, on inputs of real calls.
#ifndef AITUNE_QUANT_TRANSFORMS_LAYER_ERROR_H_
#define AITUNE_QUANT_TRANSFORMS_LAYER_ERROR_H_

#include <string>

#include "quant/schemes/float_matrix.h"
#include "quant/transforms/quantized_weight.h"

namespace aitune::quant {

// Of a layer's results before the bias, beside the same in float32.
struct LayerError {
  // The ratio of signal to noise of all rows, in decibels; infinite: exact.
  double sqnr_db = 0;
  // The ratio that 99 of 100 rows have at least.
  double low_sqnr_db = 0;
  // Whether all results are finite that are so without quantisation.
  bool is_finite = true;
};

// The error of a layer with the weight `weight` [N, K], of which `quantized`
// are the codes, for `inputs` [rows, K] as activations. At most 256 of its N
// results of a row are computed, one of each of so many equal parts. Rows whose
// results without quantisation are not finite do not count. With a scale a
// tensor the inputs have one. Thread-safe.
LayerError MeasureError(const Way& way, const FloatMatrix& inputs,
                        const FloatMatrix& weight,
                        const QuantizedWeight& quantized);

// Why a layer with this error is not quantised: below what the scheme must
// keep, 34 dB (int8wo), 28 dB (int8dq, fp8wo) or 25 dB (fp8dq), in all rows, or
// 10 dB less in a row of 100; or not finite. Empty if it may be. Thread-safe.
std::string RefuseError(Scheme scheme, const LayerError& error);

}  // namespace aitune::quant

#endif  // AITUNE_QUANT_TRANSFORMS_LAYER_ERROR_H_
