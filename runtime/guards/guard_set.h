// The conditions under which an executable may be run, checked at every call.
//
// A compiled graph is right for the inputs it was compiled for: their number,
// ranks, dtypes, devices, layouts, the sizes it allows and the values of inputs
// that are no tensors. Guards test those, never weights. They are made once and
// laid out as one flat list, so that a check is a loop over a few cache lines:
// well under a microsecond for ten inputs.
#ifndef AITUNE_RUNTIME_GUARDS_GUARD_SET_H_
#define AITUNE_RUNTIME_GUARDS_GUARD_SET_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "runtime/guards/input_description.h"
#include "runtime/tensor/size_constraint.h"

namespace aitune {

enum class GuardKind : uint8_t {
  kInputCount,  // the number of inputs
  kInputKind,   // an input is a tensor, an int, ...
  kRank,        // the number of axes of a tensor
  kDtype,       // the dtype of a tensor
  kDevice,      // the device of a tensor
  kLayout,      // the memory layout of a tensor
  kSize,        // the size of one axis is in a range
  kEqualSizes,  // two axes have the same size
  kConstant,    // the value of an input that is no tensor
  kConstraint,  // a condition on the sizes of several axes
};

// What a filter is told about a guard.
struct GuardInfo {
  GuardKind kind;
  InputSource source;     // the input's source
  bool on_tensor;         // whether the input is a tensor
  int input;              // position of the input in the call
  std::string_view name;  // name of the input; may be empty
};

// Whether a guard is kept. A guard that is not checked can let a wrong result
// through: the caller vouches for it.
using GuardFilter = std::function<bool(const GuardInfo&)>;

// The filters of torch.compiler: skip_guard_on_inbuilt_nn_modules_unsafe,
// skip_guard_on_all_nn_modules_unsafe, keep_tensor_guards_unsafe and
// skip_guard_on_globals_unsafe. Null for another name.
GuardFilter FindGuardFilter(std::string_view name);

// A guard that did not hold.
struct GuardFailure {
  GuardKind kind;
  int input = -1;  // position of the input; -1 for kInputCount
  int axis = -1;   // the axis of kSize and kEqualSizes; -1 for other kinds
  // What was found: "the size of axis 0 of input 0 is 17, compiled for 8".
  std::string text;
  // What the caller can do: "convert it to float32 before the call".
  std::string advice;
};

// Immutable; thread-safe.
class GuardSet {
 public:
  // Guards that pass exactly the inputs that `inputs` describes. The number and
  // the kinds of inputs and the ranks of tensors are always checked, because
  // the other checks read sizes by them; `filter` (null: keep all) decides
  // about the rest. Axes with the same symbol must have equal sizes.
  // `constraints` are conditions on symbols, which AxisRange::symbol numbers;
  // they are always checked. A constraint on a symbol that no axis has never
  // holds.
  explicit GuardSet(std::vector<InputDescription> inputs,
                    const GuardFilter& filter = nullptr,
                    std::vector<SizeConstraint> constraints = {});

  // Whether all guards hold. Allocates nothing.
  bool Check(absl::Span<const CallInput> inputs) const {
    return FirstFailure(inputs) < 0;
  }

  // The first guard that does not hold, nothing if all do.
  std::optional<GuardFailure> Explain(absl::Span<const CallInput> inputs) const;

  const std::vector<InputDescription>& inputs() const { return inputs_; }
  int size() const { return static_cast<int>(guards_.size()); }

 private:
  struct Guard {
    GuardKind kind;
    uint8_t value;  // expected enum value of kInputKind, kDtype and kLayout
    int16_t input;
    int16_t axis;
    int16_t other_input, other_axis;  // the second axis of kEqualSizes
    // The range of kSize. In `min` alone: the rank of kRank, the index into
    // constraints_ of kConstraint.
    int64_t min, max;
  };

  // The index in guards_ of the first guard that fails; size() when the number
  // of inputs differs; -1 if all hold.
  int FirstFailure(absl::Span<const CallInput> inputs) const;
  bool Holds(const Guard& guard, absl::Span<const CallInput> inputs) const;
  std::string InputText(int input) const;

  // A constraint whose symbol i is the size of axis axes[i].second of input
  // axes[i].first.
  struct Constraint {
    SizeConstraint condition;
    std::vector<std::pair<int16_t, int16_t>> axes;
  };
  bool ConstraintHolds(const Constraint& constraint,
                       absl::Span<const CallInput> inputs) const;

  std::vector<InputDescription> inputs_;
  std::vector<Constraint> constraints_;
  std::vector<Guard> guards_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_GUARDS_GUARD_SET_H_
