// Where the values of a list of steps lie for one combination of sizes.
//
// Made in two stages, because library primitives tell how much scratch memory
// they need only once they are prepared, and are prepared knowing which
// operand they may overwrite: Analyze gives sizes, lifetimes and the operands
// taken over; Place then assigns offsets in the arena.
#ifndef AITUNE_RUNTIME_EXECUTABLE_INSTANCE_LAYOUT_H_
#define AITUNE_RUNTIME_EXECUTABLE_INSTANCE_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/executable/loaded_plan.h"

namespace aitune {

// The memory of a value.
struct Placement {
  enum class Kind {
    kNone,    // not used by these steps, or opaque
    kFixed,   // a constant or persistent: LoadedValue::fixed of the root
    kArena,   // `offset` in the arena
    kInput,   // the caller's input `index`
    kOutput,  // the caller's output `index`
  };
  Kind kind = Kind::kNone;
  int32_t index = 0;
  int64_t offset = 0;
};

// An output that is copied at the end: an input, a constant, or a value that
// is given as another output already.
struct OutputCopy {
  int32_t output = 0;
  int32_t value = 0;
  int64_t bytes = 0;
};

class InstanceLayout {
 public:
  // `steps` are the plan's steps or, with `initialization`, those that run at
  // load. kInvalidArgument when sizes cannot be evaluated, an alias has
  // another number of bytes than its value, or an output other sizes.
  static absl::StatusOr<InstanceLayout> Analyze(
      const LoadedPlan& plan, const std::vector<LoadedStep>& steps,
      absl::Span<const int64_t> symbols, bool initialization);

  // The input of a step that an ADD post-op reads and whose memory the output
  // takes over, -1 if none. KeepApart gives it up; before Place.
  int in_place(int step) const { return in_place_[step]; }
  void KeepApart(int step) { in_place_[step] = -1; }

  // Plans the arena, with this many bytes of scratch memory for each step.
  void Place(absl::Span<const int64_t> scratch_bytes);

  // After Place. By value; sizes are empty for values that are not used.
  const Placement& placement(int32_t value) const {
    return placements_[roots_[value]];
  }
  const std::vector<int64_t>& sizes(int32_t value) const {
    return sizes_[value];
  }
  int64_t scratch_offset(int step) const { return scratch_offsets_[step]; }
  int64_t arena_bytes() const { return arena_bytes_; }
  const std::vector<OutputCopy>& copies() const { return copies_; }
  // The opaque values that no step after this one reads.
  const std::vector<int32_t>& last_uses(int step) const {
    return last_uses_[step];
  }

 private:
  absl::Status EvaluateUsed(const LoadedPlan& plan,
                            const std::vector<LoadedStep>& steps,
                            absl::Span<const int64_t> symbols);
  absl::Status PlaceOutputs(const LoadedPlan& plan,
                            absl::Span<const int64_t> symbols);
  void FindLifetimes(const LoadedPlan& plan,
                     const std::vector<LoadedStep>& steps);
  void FindInPlace(const LoadedPlan& plan,
                   const std::vector<LoadedStep>& steps);

  std::vector<int32_t> roots_;               // by value
  std::vector<std::vector<int64_t>> sizes_;  // by value
  std::vector<int64_t> bytes_;               // by value; -1: not used
  std::vector<Placement> placements_;        // by root
  std::vector<int32_t> first_, last_;        // by root: steps; -1: never
  std::vector<int> in_place_;                // by step
  // By step: the roots of the operand taken over and of the output.
  std::vector<std::pair<int32_t, int32_t>> in_place_roots_;
  std::vector<int64_t> scratch_offsets_;  // by step
  std::vector<OutputCopy> copies_;
  std::vector<std::vector<int32_t>> last_uses_;  // by step
  int64_t arena_bytes_ = 0;
};

// Whether `outputs` are what a call of `plan` with these sizes may fill: the
// plan's number of tensors of its dtypes and sizes, with memory, and nothing
// where an output is opaque. kInvalidArgument names the output.
absl::Status CheckOutputs(const LoadedPlan& plan, const InstanceLayout& layout,
                          absl::Span<const RegionValue> outputs);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_EXECUTABLE_INSTANCE_LAYOUT_H_
