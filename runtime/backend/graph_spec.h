// What is known of the inputs of a model before it is compiled: dtypes, fixed
// sizes, and the axes whose size may change from call to call.
#ifndef AITUNE_RUNTIME_BACKEND_GRAPH_SPEC_H_
#define AITUNE_RUNTIME_BACKEND_GRAPH_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tensor/data_type.h"

namespace aitune {

// One axis of an input.
struct GraphAxis {
  enum class Kind {
    kFixed,    // always `size`
    kBatch,    // always `size` times the batch size, over `divisor`
    kDynamic,  // between `min` and `max`, for itself
  };
  Kind kind = Kind::kFixed;
  int64_t size = 0;
  int64_t min = 0;
  int64_t max = 0;  // at least; a larger size may be taken too
  int64_t divisor = 1;

  friend bool operator==(const GraphAxis& a, const GraphAxis& b) {
    return a.kind == b.kind && a.size == b.size && a.min == b.min &&
           a.max == b.max && a.divisor == b.divisor;
  }
};

struct GraphInput {
  DataType dtype = DataType::kFloat32;
  std::vector<GraphAxis> axes;

  // "float32[batch0, dim1, 4]": a batch axis and a dynamic one by their
  // position, a fixed one by its size.
  std::string ToString() const;
};

struct GraphSpec {
  std::vector<GraphInput> inputs;
  // The batch sizes of the samples it was made from; 1 and 1 without samples.
  int64_t min_batch = 1;
  int64_t max_batch = 1;

  bool has_batch_axis() const;
  bool has_dynamic_axis() const;
  // The inputs, separated by ", ".
  std::string ToString() const;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BACKEND_GRAPH_SPEC_H_
