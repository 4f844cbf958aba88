// What is known about a model's inputs before it is compiled: their dtypes,
// their fixed sizes, and the axes whose size may change from call to call.
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
    kFixed,    // the size is always `size`
    kBatch,    // the size is `size` * batch size / `divisor`
    kDynamic,  // the size varies independently of the batch size
  };
  Kind kind = Kind::kFixed;
  int64_t size = 0;     // elements of kFixed; of kBatch see there
  int64_t min = 0;      // smallest size of kDynamic, in elements
  int64_t max = 0;      // largest size seen of kDynamic; calls may have larger
  int64_t divisor = 1;  // the number that a kBatch's size is divided by

  friend bool operator==(const GraphAxis& a, const GraphAxis& b) {
    return a.kind == b.kind && a.size == b.size && a.min == b.min &&
           a.max == b.max && a.divisor == b.divisor;
  }
};

struct GraphInput {
  DataType dtype = DataType::kFloat32;
  std::vector<GraphAxis> axes;

  // For example "float32[batch0, dim1, 4]": batch and dynamic axes are printed
  // with their position, fixed ones with their size.
  std::string ToString() const;
};

struct GraphSpec {
  std::vector<GraphInput> inputs;
  // The smallest and the largest batch size of the samples that the spec was
  // made from, in items; 1 without samples.
  int64_t min_batch = 1;
  int64_t max_batch = 1;

  bool has_batch_axis() const;
  bool has_dynamic_axis() const;
  // The inputs, separated by ", ".
  std::string ToString() const;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BACKEND_GRAPH_SPEC_H_
