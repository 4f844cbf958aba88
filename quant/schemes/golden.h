// For tests: reads testdata/golden.txt, which has torchao's codes and scales of
// some small tensors.
#ifndef AITUNE_QUANT_SCHEMES_GOLDEN_H_
#define AITUNE_QUANT_SCHEMES_GOLDEN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "quant/schemes/scheme.h"

namespace aitune::quant {

// torchao's result for a tensor in one format.
struct GoldenResult {
  std::string format;  // "int8" or "float8"
  Granularity granularity;
  std::string codes;          // one byte for each element, rows contiguous
  std::vector<float> scales;  // one for each row, or one
};

struct GoldenTensor {
  std::string name;
  FloatMatrix matrix;  // its data is `values`
  std::string values;
  std::vector<GoldenResult> results;
};

struct Golden {
  std::vector<GoldenTensor> tensors;
  // The SHA-256, in hex, of PyTorch's float8_e4m3fn codes of the bfloat16
  // numbers 0x0000, 0x0001 .. 0xffff.
  std::string cast_sha256;
};

// Ends the test program when the file can't be read.
const Golden& GoldenFile();

}  // namespace aitune::quant

#endif  // AITUNE_QUANT_SCHEMES_GOLDEN_H_
