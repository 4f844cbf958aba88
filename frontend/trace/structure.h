// Nested inputs and outputs as flat lists of leaves, and back.
//
// A leaf is any value that is not a tuple, list or dict: a tensor, a number, a
// string, None or an object. Leaves are numbered in the order of a depth-first
// walk. A dense tensor of a known dtype on the CPU is represented by its
// memory, which is made contiguous; all other leaves are opaque values that
// hold an IValue.
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
#include "runtime/device/device.h"
#include "runtime/executable/fallback_region.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune::frontend {

// The leaf for an IValue. A tensor that is not contiguous is copied; the memory
// of any other tensor is shared and kept alive.
OwnedValue ToOwned(const c10::IValue& leaf);

// The IValue of a leaf. A tensor refers to the leaf's memory and keeps `owner`
// alive.
c10::IValue ToIValue(const RegionValue& leaf,
                     std::shared_ptr<const void> owner = nullptr);

// Whether an opaque leaf holds a tuple, list or dict. A value that LibTorch
// computes from data may be one.
bool HoldsContainer(const OwnedValue& leaf);

// The nesting of `values` as a tuple with one child for each of them. All
// leaves of the result are of kind kTensor, whatever they are in `values`.
Structure NestingOf(const std::vector<c10::IValue>& values);

// Whether both have the same containers with the same numbers of leaves.
bool SameNesting(const Structure& a, const Structure& b);

// kInvalidArgument when a dict of `values`, which have the nesting `structure`,
// has its keys in another order. Thread-safe.
absl::Status CheckKeyOrder(const Structure& structure,
                           const std::vector<c10::IValue>& values);

// The leaves of `values`, of which each is a child of the tuple `structure`.
// Only containers are compared, not the kinds of leaves. kInvalidArgument when
// containers differ; the text names the place. kInternal with LibTorch's text
// when it can't copy a tensor. Thread-safe.
absl::StatusOr<std::vector<OwnedValue>> FlattenLeaves(
    const Structure& structure, const std::vector<c10::IValue>& values);

// The inverse: `leaves` in the nesting of `structure`. kInvalidArgument for
// another number of leaves. Thread-safe.
absl::StatusOr<c10::IValue> UnflattenLeaves(const Structure& structure,
                                            std::vector<c10::IValue> leaves);

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

// Memory for the outputs of a call, as Executable::Run takes it.
struct OutputBuffers {
  std::vector<RegionValue> values;  // one for each output
  // By output: what keeps its memory alive.
  std::vector<std::shared_ptr<const void>> owners;
  Device device;  // the device of the memory
};
// Uninitialised memory of `device` for output i of dtypes[i] and sizes[i]; an
// empty OpaqueValue where is_opaque[i]. It is `memory`[i], large enough, where
// that is given and not null, otherwise LibTorch's.
OutputBuffers AllocateOutputs(
    absl::Span<const DataType> dtypes,
    absl::Span<const std::vector<int64_t>> sizes,
    const std::vector<bool>& is_opaque, const Device& device = Device(),
    absl::Span<const std::shared_ptr<char>> memory = {});

// The leaves of a result of this structure: `outputs`, which has one value for
// each flattened output of the trace, and the constants between them. A tensor
// in the memory of `outputs` keeps its owner alive. kInternal when the numbers
// of outputs differ.
absl::StatusOr<std::vector<OwnedValue>> OutputLeaves(
    const Structure& structure, const OutputBuffers& outputs);

// The result as one IValue: the leaves of OutputLeaves in their nesting. Errors
// as OutputLeaves.
absl::StatusOr<c10::IValue> UnflattenOutputs(const Structure& structure,
                                             const OutputBuffers& outputs);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_STRUCTURE_H_
