// Where the values of a list of steps are in memory, for one combination of
// sizes.
//
// The layout is made in two stages, because a library primitive needs to know
// which operand it may overwrite before it is prepared, and its scratch memory
// is known only afterwards: Analyze finds sizes, lifetimes and the operands
// that are overwritten; Place then assigns offsets in the arena.
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
    kLent,    // memory that a region lends (LoadedPlan::is_lent)
    kInput,   // the caller's input `index`
    kOutput,  // the caller's output `index`
  };
  Kind kind = Kind::kNone;
  int32_t index = 0;   // index of the caller's input or output
  int64_t offset = 0;  // bytes from the beginning of that memory
};

// An output that is copied after the last step, because its value is an input,
// a constant, lent, a part of another value, or another output too.
struct OutputCopy {
  int32_t output = 0;  // index of the caller's output
  int32_t value = 0;   // index of the value that is copied
  int64_t bytes = 0;
};

class InstanceLayout {
 public:
  // `steps` are the plan's steps or, with `initialization`, those that run at
  // load. kInvalidArgument when sizes cannot be evaluated, an alias has
  // another number of bytes than its value or is no part of it, or an output
  // has other sizes.
  static absl::StatusOr<InstanceLayout> Analyze(
      const LoadedPlan& plan, const std::vector<LoadedStep>& steps,
      absl::Span<const int64_t> symbols, bool initialization);

  // Whether a call of these sizes runs the step, which may be an alternative of
  // others (AlternativeProto).
  bool runs(int step) const { return runs_[step]; }

  // The position of the step's input that an ADD post-op reads and whose memory
  // the output may use; -1 if there is none. KeepApart gives the output memory
  // of its own instead; to be called before Place.
  int in_place(int step) const { return in_place_[step]; }
  void KeepApart(int step) { in_place_[step] = -1; }

  // Plans the arena. scratch_bytes[step] are the bytes of scratch memory that
  // each step needs.
  void Place(absl::Span<const int64_t> scratch_bytes);

  // The following may be called after Place. The memory and the sizes, in
  // elements, of a value; the sizes are empty if no step uses it.
  Placement placement(int32_t value) const {
    Placement placement = placements_[roots_[value]];
    placement.offset += offsets_[value];
    return placement;
  }
  const std::vector<int64_t>& sizes(int32_t value) const {
    return sizes_[value];
  }
  // The offset of a step's scratch memory in the arena, in bytes.
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
  // The sizes, bytes and offset of a value and of all that it is an alias of.
  absl::Status Evaluate(const LoadedPlan& plan, int32_t value,
                        absl::Span<const int64_t> symbols);
  // Where an alias, whose bytes are known, begins in its root.
  absl::Status FindOffset(const LoadedPlan& plan, int32_t alias,
                          absl::Span<const int64_t> symbols);
  // Whether the value of an input has the sizes that calls are checked for: a
  // step reads as much memory as the value says.
  absl::Status CheckInput(const LoadedPlan& plan, int32_t value,
                          absl::Span<const int64_t> symbols) const;
  absl::Status PlaceOutputs(const LoadedPlan& plan,
                            absl::Span<const int64_t> symbols);
  void FindLifetimes(const LoadedPlan& plan,
                     const std::vector<LoadedStep>& steps);
  void FindInPlace(const LoadedPlan& plan,
                   const std::vector<LoadedStep>& steps);

  std::vector<bool> runs_;      // whether a call runs the step
  std::vector<int32_t> roots_;  // each value's root: see StorageRoots
  std::vector<std::vector<int64_t>> sizes_;  // each value's sizes in elements
  std::vector<int64_t> bytes_;               // each value's bytes; -1: not used
  std::vector<int64_t>
      offsets_;  // each value's bytes from its root's beginning
  std::vector<Placement> placements_;  // each root's place
  std::vector<int32_t> first_, last_;  // each root's steps; -1: never used
  std::vector<int> in_place_;  // the place of each step's input that its output
                               // overwrites; -1: none
  // The roots of each step's overwritten operand and of its output.
  std::vector<std::pair<int32_t, int32_t>> in_place_roots_;
  // Each step's scratch memory in the arena.
  std::vector<int64_t> scratch_offsets_;
  std::vector<OutputCopy> copies_;
  // Opaque values that each step is the last to read.
  std::vector<std::vector<int32_t>> last_uses_;
  int64_t arena_bytes_ = 0;
};

// Checks that a call of `plan` with these sizes can fill `outputs`: that there
// are as many as in the plan, that tensors have memory and the plan's dtypes
// and sizes, and that others are opaque or given (LoadedPlan::given_output).
// kInvalidArgument names the output.
// Thread-safe.
absl::Status CheckOutputs(const LoadedPlan& plan, const InstanceLayout& layout,
                          absl::Span<const RegionValue> outputs);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_EXECUTABLE_INSTANCE_LAYOUT_H_
