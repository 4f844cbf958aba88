// The weight of a layer in 8 bits, as constants of the pool.
#ifndef AITUNE_QUANT_TRANSFORMS_QUANTIZED_WEIGHT_H_
#define AITUNE_QUANT_TRANSFORMS_QUANTIZED_WEIGHT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "quant/schemes/float_matrix.h"
#include "quant/schemes/scheme.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune::quant {

struct QuantizedWeight {
  std::string refusal;    // why there are no codes; empty if there are
  ConstantTensor codes;   // int8 or float8_e4m3fn [N, K]
  ConstantTensor scales;  // float32 [N], one a row; equal with one a tensor
  // int32 [N], 128 times the sum of each row's codes, modulo 2^32; of
  // kInt8Dynamic alone.
  std::optional<ConstantTensor> sums;
  double sqnr_db =
      0;  // ratio of the weight to the codes' error; infinite: exact
  // The constants' numbers in the pool, for who adds them to it.
  int64_t codes_number = -1, scales_number = -1, sums_number = -1;
};

// A constant of rank 2 as rows: [rows, columns] or, unless `is_rows`, [columns,
// rows].
FloatMatrix RowsOf(const ConstantTensor& constant, bool is_rows);

// Quantises a weight of rank 2, [N, K] or, unless `is_rows`, [K, N], with one
// scale a row of [N, K] or one. Refused as RefuseWeight, and with `bounded` if
// sqnr_db is below what the scheme promises.
//
// `known` has, by their names, codes and scales that weights were made of. A
// weight called NAME that is what the tensors NAME.codes and NAME.scales stand
// for, rounded to its dtype, is given these: new ones would round its scales
// twice. Thread-safe.
QuantizedWeight QuantizeWeight(
    Scheme scheme, Granularity granularity, const ConstantTensor& weight,
    bool is_rows, bool bounded,
    const std::map<std::string, ConstantTensor>& known = {});

}  // namespace aitune::quant

#endif  // AITUNE_QUANT_TRANSFORMS_QUANTIZED_WEIGHT_H_
