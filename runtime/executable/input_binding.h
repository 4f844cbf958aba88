// Checks a call's inputs against the plan and reads the symbols' values from
// their sizes. Runs at every call: what can be prepared is prepared.
#ifndef AITUNE_RUNTIME_EXECUTABLE_INPUT_BINDING_H_
#define AITUNE_RUNTIME_EXECUTABLE_INPUT_BINDING_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/plan/plan.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune {

class InputBinding {
 public:
  // Precondition: the plan is valid. Copies what it needs.
  explicit InputBinding(const ExecutablePlan& plan);

  int symbol_count() const { return static_cast<int>(symbols_.size()); }

  // Writes symbols[i] for each symbol. kInvalidArgument when the inputs do not
  // fit: the text names the input, what was expected and what was given; or
  // the constraint of the plan that the sizes do not fulfil.
  // Allocates nothing unless it fails. Thread-safe.
  absl::Status Bind(absl::Span<const TensorView> inputs,
                    absl::Span<int64_t> symbols) const;

 private:
  struct Axis {
    SizeExpression size;
    int64_t constant;  // -1: not a constant
    int symbol;        // -1: not a symbol alone
  };
  struct Input {
    DataType dtype;
    std::vector<Axis> axes;
  };

  absl::Status Explain(int input, const TensorView& given, size_t axis,
                       absl::Span<const int64_t> symbols) const;

  std::vector<Input> inputs_;
  std::vector<SymbolProto> symbols_;
  std::vector<SizeConstraint> constraints_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_EXECUTABLE_INPUT_BINDING_H_
