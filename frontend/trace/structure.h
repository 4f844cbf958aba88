// Nested inputs and outputs as flat lists of leaves, and back.
//
// A leaf is what is no tuple, list or dict: a tensor, a number, a string, None
// or an object. Leaves are numbered in the order of a depth-first walk. A dense
// tensor of a known dtype on the CPU is a leaf by its memory, contiguous; all
// others are opaque values that hold an IValue.
#ifndef AITUNE_FRONTEND_TRACE_STRUCTURE_H_
#define AITUNE_FRONTEND_TRACE_STRUCTURE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/trace/trace.h"
#include "frontend/values/value_list.h"
#include "runtime/backend/source_model.h"
#include "runtime/executable/fallback_region.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune::frontend {

// A leaf from LibTorch. A tensor that is not contiguous is copied, another one
// is shared and kept.
OwnedValue ToOwned(const c10::IValue& leaf);

// The IValue of a leaf; a tensor refers to the memory, and keeps `owner`.
c10::IValue ToIValue(const RegionValue& leaf,
                     std::shared_ptr<const void> owner = nullptr);

// Whether an opaque leaf holds a tuple, list or dict: what LibTorch computes
// from data may.
bool HoldsContainer(const OwnedValue& leaf);

// The nesting of `values`, each a child of a tuple; its leaves are tensors,
// whatever they are in `values`.
Structure NestingOf(const std::vector<c10::IValue>& values);

// Whether both nest as many leaves in the same containers.
bool SameNesting(const Structure& a, const Structure& b);

// The leaves of `values`, each a child of `structure`, a tuple. What leaves are
// is not compared. kInvalidArgument when containers differ; the text names the
// place. kInternal with LibTorch's text when it can't copy a tensor.
// Thread-safe.
absl::StatusOr<std::vector<OwnedValue>> FlattenLeaves(
    const Structure& structure, const std::vector<c10::IValue>& values);

// The inverse: `leaves` in the nesting of `structure`. kInvalidArgument for
// another number of leaves. Thread-safe.
absl::StatusOr<c10::IValue> UnflattenLeaves(const Structure& structure,
                                            std::vector<c10::IValue> leaves);

// Flattened tensors and what keeps their memory alive.
struct FlatTensors {
  std::vector<TensorView> views;
  std::shared_ptr<const void> owner;
};

enum class ConstantCheck { kCheck, kTakeConstants };

// What a trace's inputs must be: their nesting, which leaves are tensors, and
// the constants that it was made for. Thread-safe.
class InputNesting {
 public:
  InputNesting() = default;
  // Of Trace::input_structure.
  explicit InputNesting(Structure structure);

  const Structure& structure() const { return structure_; }

  // The tensors among `leaves`, which must be on the CPU or, with `gpu` >= 0,
  // on that GPU. They refer to the memory of `leaves`, and to copies where a
  // GPU's tensors are not contiguous. kInvalidArgument when leaves are others
  // than the trace's or (but with kTakeConstants) a constant has another value;
  // the text names the place. LibTorch's exceptions may leave it.
  absl::StatusOr<FlatTensors> TensorsOf(
      absl::Span<const RegionValue> leaves, int gpu = -1,
      ConstantCheck check = ConstantCheck::kCheck) const;

  // Likewise of arguments; the result keeps their memory. Errors also as
  // FlattenLeaves.
  absl::StatusOr<FlatTensors> Flatten(
      const ValueList& arguments, int gpu = -1,
      ConstantCheck check = ConstantCheck::kCheck) const;

 private:
  struct Leaf {
    Structure expected;  // without children
    std::string place;   // "input 0['mask']"
  };

  Structure structure_;
  std::vector<Leaf> leaves_;
};

// Uninitialised memory for outputs: one TensorView for each type (a null type
// gives an empty OpaqueValue).
struct OutputBuffers {
  std::vector<RegionValue> values;
  std::shared_ptr<const void> owner;
  int gpu = -1;  // whose memory it is
};
OutputBuffers AllocateOutputs(absl::Span<const DataType> dtypes,
                              absl::Span<const std::vector<int64_t>> sizes,
                              const std::vector<bool>& is_opaque, int gpu = -1);

// The leaves of a result of this structure: `outputs` (one for each flattened
// output of the trace) and the constants between them. Tensors of
// `outputs.owner` keep it alive. kInternal when the counts differ.
absl::StatusOr<std::vector<OwnedValue>> OutputLeaves(
    const Structure& structure, const OutputBuffers& outputs);

// The result itself: those leaves in their nesting. Errors as OutputLeaves.
absl::StatusOr<c10::IValue> UnflattenOutputs(const Structure& structure,
                                             const OutputBuffers& outputs);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_STRUCTURE_H_
