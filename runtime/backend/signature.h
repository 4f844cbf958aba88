// What compiled code takes and gives: the names, dtypes and sizes of tensors.
#ifndef AITUNE_RUNTIME_BACKEND_SIGNATURE_H_
#define AITUNE_RUNTIME_BACKEND_SIGNATURE_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "runtime/tensor/data_type.h"

namespace aitune {

// The sizes of one axis in elements, both ends included. The sizes of outputs
// that follow from others by a formula are not bounded here.
struct SizeRange {
  int64_t min = 0;
  int64_t max = std::numeric_limits<int64_t>::max();
};

struct TensorSignature {
  // The name that Python would give it: the parameter and where in it the
  // tensor is, such as "masks['left'][0]"; of outputs "output" in place of the
  // parameter.
  std::string name;
  // Not set: something that only LibTorch knows, which has no axes here.
  std::optional<DataType> dtype;
  std::vector<SizeRange> axes;
};

// One compiled version. Its inputs are all tensors among the arguments, in
// depth-first order of their nesting, its outputs likewise. Sizes may be
// narrowed further by conditions between them.
struct Signature {
  std::vector<TensorSignature> inputs, outputs;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BACKEND_SIGNATURE_H_
