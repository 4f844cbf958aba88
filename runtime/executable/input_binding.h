// Checks a call's inputs against the plan and reads the symbols' values from
// their sizes. Runs at every call, so the constructor prepares the plan's types
// and constraints for comparison.
#ifndef AITUNE_RUNTIME_EXECUTABLE_INPUT_BINDING_H_
#define AITUNE_RUNTIME_EXECUTABLE_INPUT_BINDING_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/plan/plan.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune {

class InputBinding {
 public:
  // Copies what it needs. kInvalidArgument, which names the input or the
  // constraint, when the plan is not valid.
  static absl::StatusOr<InputBinding> Create(const ExecutablePlan& plan);

  int symbol_count() const { return static_cast<int>(symbols_.size()); }

  // Writes the value of each symbol s`i`, in elements, to symbols[i].
  // kInvalidArgument when the inputs do not fit the plan: the text names the
  // input, what was expected and what was given, or the plan's constraint that
  // the sizes do not fulfil. Allocates nothing unless it fails. Thread-safe.
  absl::Status Bind(absl::Span<const TensorView> inputs,
                    absl::Span<int64_t> symbols) const;

 private:
  struct Axis {
    SizeExpression size;
    int64_t constant;  // the value of `size` in elements; -1: not a constant
    int symbol;        // the symbol that `size` is; -1: another expression
  };
  struct Input {
    DataType dtype;
    std::vector<Axis> axes;
  };

  InputBinding() = default;

  // The error for an input whose size along `axis` does not fit.
  absl::Status Explain(int input, const TensorView& given, size_t axis,
                       absl::Span<const int64_t> symbols) const;

  std::vector<Input> inputs_;
  std::vector<SymbolProto> symbols_;
  std::vector<SizeConstraint> constraints_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_EXECUTABLE_INPUT_BINDING_H_
