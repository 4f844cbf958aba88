// The four ways to quantise a linear layer to 8 bits, and which weights each of
// them supports.
//
// Terms, here and in int8.h and float8.h: a layer computes x W^T + b with the
// activation x [.., K] and the weight W [N, K], as torch.nn.Linear holds it. A
// quantised tensor consists of codes (one byte for each element) and scales
// (float32), and stands for code * scale. Names, choices and bits are those of
// torchao 0.18 with its default configurations; ../README.md lists the
// differences.
#ifndef AITUNE_QUANT_SCHEMES_SCHEME_H_
#define AITUNE_QUANT_SCHEMES_SCHEME_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

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

// The scheme with this name; not set for another name.
std::optional<Scheme> ParseScheme(std::string_view name);

// Which elements have a common scale.
enum class Granularity {
  kPerRow,     // those of a row of the weight, of a token of the activation
  kPerTensor,  // those of the whole weight, of the whole activation of a call
};

// How layers are quantised.
struct Way {
  Scheme scheme;
  Granularity granularity;

  friend bool operator<(const Way& a, const Way& b) {
    return std::tie(a.scheme, a.granularity) <
           std::tie(b.scheme, b.granularity);
  }
};

// The precision in which a scale is computed. Weights are always quantised with
// kEager.
enum class Arithmetic {
  kEager,  // each operation rounds to the tensor's dtype, as PyTorch's does
  kFused,  // all operations are in float32, as in a compiled kernel
};

// Why a layer is not quantised.
enum class RefusalReason {
  kShape,      // the sizes of its weight
  kDtype,      // the dtype of its weight
  kFiltered,   // the class or the path of its module
  kNotFinite,  // a NaN or an infinity in its weight
};

// "shape", "dtype", "filtered" or "not finite".
std::string_view Name(RefusalReason reason);

struct Refusal {
  RefusalReason reason;
  std::string
      text;  // a clause that says what is wrong, without the layer's name
};

// Why `scheme` does not support a layer with this weight; not set if it does.
// Reads the whole weight. For a weight that is not bfloat16, torchao's per-row
// float8 does not skip the layer but fails: the text is then torchao's error.
// Thread-safe.
std::optional<Refusal> RefuseWeight(Scheme scheme, Granularity granularity,
                                    const FloatMatrix& weight);

}  // namespace aitune::quant

#endif  // AITUNE_QUANT_SCHEMES_SCHEME_H_
