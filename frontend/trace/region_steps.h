// What a fallback region does, worked out once when it is made: where each
// argument of its operators comes from and where each result goes, with the
// values numbered densely. A call then only follows it.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACE_REGION_STEPS_H_
#define AITUNE_FRONTEND_TRACE_REGION_STEPS_H_

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <vector>

#include "frontend/trace/fallback.h"
#include "frontend/trace/recorded_op.h"

namespace aitune::frontend {

// An argument of an operator, or a part of one.
struct RegionArgument {
  enum class Kind {
    kFixed,
    kSlot,
    kConstant,
    kOutside,  // a value that nobody gives the region: an error once it is read
    kSize,
    kContainer
  };
  Kind kind = Kind::kFixed;
  c10::IValue fixed;  // kFixed
  int slot = -1;      // kSlot
  // kSlot: nobody reads it later, so that the operator gets the value itself.
  bool is_last_use = false;
  int constant = -1;  // kConstant: index into RegionSteps::constants
  // kConstant: whether each call needs another tensor on the constant's memory.
  bool is_made_anew = false;
  // Owned by the trace: has the size, or what the container is.
  const ArgumentTemplate* recipe = nullptr;
  std::vector<RegionArgument> children;  // of a kContainer
};

// Where a result, or the parts of a container, go.
struct RegionResult {
  bool is_container = false;
  int slot = -1;                       // -1: nobody reads it
  std::vector<RegionResult> children;  // the parts of a container
};

struct RegionStep {
  const RecordedOp* op = nullptr;  // owned by the trace
  std::vector<RegionArgument> arguments;
  std::vector<RegionResult> results;
  // Whether it makes an object, which may keep tensors that are its arguments
  // and can't be asked for them, as packed weights do.
  bool makes_object = false;
  // The same operator as one that writes to its first argument, which a step
  // before it made and nobody else reads, or which is a constant of zeros; not
  // set: there is none, or another reads it.
  std::optional<c10::OperatorHandle> in_place;
  // Whether it is such a constant: new zeros cost less than a copy.
  bool writes_zeros = false;
};

struct RegionConstant {
  int index = -1;          // into RecordedTrace::constants
  bool is_number = false;  // TraceValue::is_number
};

struct RegionSteps {
  std::vector<RegionStep> steps;
  int slot_count = 0;
  std::vector<int> input_slots;   // -1: nobody reads it
  std::vector<int> output_slots;  // -1: nobody computes it
  std::vector<RegionConstant> constants;
};

// The steps of a region as MakeFallbackRegion describes it, which refer to
// `trace`.
RegionSteps MakeRegionSteps(const RecordedTrace& trace,
                            const std::vector<int>& op_indices,
                            const std::vector<ValueId>& inputs,
                            const std::vector<ValueId>& outputs);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_REGION_STEPS_H_
