// The inputs of a call, compared with those that a trace was made for.
//
// A trace takes one nesting of inputs and has the numbers and strings among
// them built in. What a call gives is compared leaf by leaf, and an error names
// the place of the first leaf that differs as the program would write it.
#ifndef AITUNE_FRONTEND_TRACE_INPUT_NESTING_H_
#define AITUNE_FRONTEND_TRACE_INPUT_NESTING_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/trace/trace.h"
#include "frontend/values/value_list.h"
#include "runtime/device/device.h"
#include "runtime/executable/fallback_region.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune::frontend {

// Flattened tensors.
struct FlatTensors {
  std::vector<TensorView> views;
  std::shared_ptr<const void> owner;  // keeps their memory alive
};

enum class ConstantCheck {
  kCheck,          // constants among the inputs must have the trace's values
  kTakeConstants,  // constants of the call are ignored; the trace's are used
};

// Compares inputs with those of a trace: their nesting, which leaves are
// tensors, and the constants that the trace was made for. Thread-safe.
class InputNesting {
 public:
  InputNesting() = default;
  // `structure` is Trace::input_structure.
  explicit InputNesting(Structure structure);

  const Structure& structure() const { return structure_; }

  // The tensors among `leaves`, which must be on `device`. They refer to the
  // memory of `leaves`, or to copies of a GPU's tensors that are not
  // contiguous. kInvalidArgument when the kind of a leaf differs from the
  // trace's or, with kCheck, a constant has another value; the text names the
  // place. May throw LibTorch's exceptions.
  absl::StatusOr<FlatTensors> TensorsOf(
      absl::Span<const RegionValue> leaves, const Device& device = Device(),
      ConstantCheck check = ConstantCheck::kCheck) const;

  // The same for the leaves of `arguments`. The result keeps their memory
  // alive. Errors also as FlattenLeaves.
  absl::StatusOr<FlatTensors> Flatten(
      const ValueList& arguments, const Device& device = Device(),
      ConstantCheck check = ConstantCheck::kCheck) const;

 private:
  struct Leaf {
    Structure expected;  // without children
    std::string place;   // "input 0['mask']"
  };

  Structure structure_;
  std::vector<Leaf> leaves_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_INPUT_NESTING_H_
