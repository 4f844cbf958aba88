// The four ways to quantise a linear layer to 8 bits, and which weights each of
// them takes.
//
// Words, here and in int8.h and float8.h: a layer computes x W^T + b with the
// activation x [.., K] and the weight W [N, K], as torch.nn.Linear holds it. A
// quantised tensor is its codes (one byte an element) and its scales (float32),
// and stands for code * scale. Names, choices and bits are those of torchao
// 0.18 with its default configurations; ../README.md says where we differ.
#ifndef AITUNE_QUANT_SCHEMES_SCHEME_H_
#define AITUNE_QUANT_SCHEMES_SCHEME_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quant/schemes/float_matrix.h"

namespace aitune::quant {

// Values are stored on disk: append, never renumber.
enum class Scheme : int32_t {
  kInt8WeightOnly = 1,    // int8 weight, activation as it is
  kInt8Dynamic = 2,       // int8 weight, activation quantised at each call
  kFloat8WeightOnly = 3,  // float8_e4m3fn weight, activation as it is
  kFloat8Dynamic = 4,     // both float8_e4m3fn, activation at each call
};

// "int8wo", "int8dq", "fp8wo" or "fp8dq".
std::string_view Name(Scheme scheme);

// The inverse of Name; nothing for another name.
std::optional<Scheme> ParseScheme(std::string_view name);

// What shares a scale.
enum class Granularity {
  kPerRow,     // a row of the weight, a token of the activation
  kPerTensor,  // the whole weight, the whole activation of a call
};

// In which precision a scale is computed. Weights are always quantised eagerly.
enum class Arithmetic {
  kEager,  // each operation rounds to the tensor's dtype, as PyTorch's does
  kFused,  // float32 throughout, as in a compiled kernel
};

// Why a layer keeps its 16 or 32 bits.
enum class RefusalReason {
  kShape,
  kDtype,
  kFiltered,  // by the class or the path of its module
  kNotFinite,
};

// "shape", "dtype", "filtered" or "not finite".
std::string_view Name(RefusalReason reason);

struct Refusal {
  RefusalReason reason;
  std::string text;  // a clause that says what was wrong, without the layer
};

// Why `scheme` does not take a layer with this weight, nothing if it does.
// Reads the whole weight. torchao's own per-row float8 fails, rather than
// passes over, a weight that is not bfloat16: that refusal's text is its error.
// Thread-safe.
std::optional<Refusal> RefuseWeight(Scheme scheme, Granularity granularity,
                                    const FloatMatrix& weight);

}  // namespace aitune::quant

#endif  // AITUNE_QUANT_SCHEMES_SCHEME_H_
