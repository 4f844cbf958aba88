// A trace: the model as a flat list of functional operator calls, with a shape
// for every tensor. It is the interface between the frontend's two halves.
//
// The LibTorch half (frontend/tracing) runs the TorchScript graph once for each
// probe and records the operators that it calls; the MLIR half
// (frontend/importer) turns the record into the `ait` dialect. Plain data
// between them keeps torch/script.h and MLIR out of each other's translation
// units, and lets another reader (of exported programs, say) produce the same
// record.
//
// A trace has no mutation and no aliasing (in-place operators become functional
// ones), no control flow that could be decided while tracing, and no containers
// except in the structure of inputs and outputs. Every value that depends on no
// input data and has a static shape is a constant.
#ifndef AITUNE_FRONTEND_TRACE_TRACE_H_
#define AITUNE_FRONTEND_TRACE_TRACE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/executable/fallback_region.h"
#include "runtime/tensor/data_type.h"
#include "runtime/tensor/size_constraint.h"
#include "runtime/tensor/size_expression.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune::frontend {

// Index into Trace::values.
using ValueId = int32_t;

struct TensorType {
  DataType dtype = DataType::kFloat32;
  std::vector<SizeExpression> sizes;  // elements of each axis
};

// A value of the trace: a constant, a tensor of known rank, dtype and
// (symbolic) sizes, or an opaque LibTorch value.
struct TraceValue {
  enum class Kind { kTensor, kConstant, kOpaque };
  Kind kind = Kind::kTensor;
  TensorType type;        // kTensor and kConstant (static sizes)
  int32_t constant = -1;  // kConstant: index into Trace::constants
  // kConstant without axes: whether it is a number of Python's (MarkNumbers in
  // frontend/torchscript/conversion.h).
  bool is_number = false;
  std::string why_opaque;  // kOpaque: for example "its size depends on data"
};

// An argument of an operator call.
struct NoneArgument {};
struct ScalarTypeArgument {
  DataType dtype;
};
using Argument = std::variant<
    NoneArgument, ValueId, std::vector<ValueId> /* -1: None */, bool,
    SizeExpression /* int */, std::vector<SizeExpression> /* int[] */, double,
    std::vector<double>, std::vector<bool>, std::string, ScalarTypeArgument>;

// One call of an operator in its functional form.
struct TraceOp {
  std::string name;      // schema name, such as "aten::add"
  std::string overload;  // such as "Tensor"; empty if the schema has none
  std::vector<std::string> argument_names;  // those of the schema, in order
  std::vector<Argument> arguments;  // one for each name, defaults filled in
  // The results, with lists flattened. -1: undefined, and nobody reads it.
  std::vector<ValueId> results;
  std::string location;  // TorchScript source location, such as "model.py:12"
  std::string scope;     // the submodule, such as "encoder.layer.3.attention"
  // If it is already known that LibTorch must run this call, the reason:
  // control flow on data, a result whose shape depends on data, no schema. Else
  // empty.
  std::string must_fall_back;
};

struct TraceSymbol {
  std::string name;          // such as "s0"
  int64_t min = 1, max = 1;  // its range in elements, both ends included
  // The elements in the call that the trace is made for; 0: no call is known.
  int64_t typical = 0;
  // The flattened tensor input, and its axis, from which the symbol is read.
  int32_t input = 0, axis = 0;
};

// The nesting of inputs or outputs. Tensors, and in outputs opaque values too,
// are leaves of kind kTensor and numbered in the order of a depth-first walk.
// Other leaves are constants that the trace was made for.
struct Structure {
  enum class Kind { kTensor, kNone, kConstant, kTuple, kList, kDict };
  Kind kind = Kind::kTensor;
  std::vector<Structure> children;
  std::vector<std::string> keys;  // kDict: the printed key of each child
  // kConstant: an IValue. Containers: LibTorch's type and keys; see
  // structure_internal.h.
  std::shared_ptr<void> constant;
  std::string type_name;  // TorchScript's name of the type
};

// The operator that is a whole model, which LibTorch runs with the state of its
// modules, as it can't be traced.
inline constexpr char kWholeModel[] = "aitune::model";
// The operator that gives one of the model's own tensors, which calls write.
inline constexpr char kState[] = "aitune::state";
// The operator that gives an input as the caller's own tensor, which calls
// write.
inline constexpr char kWrittenInput[] = "aitune::written_input";

class GpuState;
class OutlinedProgram;

// Where regions that LibTorch runs are, and what for.
struct RegionPlace {
  Device device;
  // Whether they are run to measure or to compare, beside the calls: they then
  // write to copies of the model's own tensors.
  bool is_trial = true;
  // The model's own tensors there, which the regions read and write. Null on
  // the CPU, and where they are tried.
  std::shared_ptr<const GpuState> state = nullptr;
};

struct Trace {
  std::vector<TraceSymbol> symbols;
  // Conditions on the sizes beside the symbols' ranges. Sizes that do not
  // fulfil them need another trace.
  std::vector<SizeConstraint> constraints;
  std::vector<TraceValue> values;
  std::vector<TraceOp> ops;
  std::vector<ConstantTensor> constants;
  std::vector<ValueId> inputs;  // flattened tensor inputs
  // Those that calls write, by their places among these: they are the caller's
  // own tensors (kWrittenInput), of which no other input may have memory.
  std::vector<int> written_inputs;
  // Flattened outputs: tensors, constants or opaque values.
  std::vector<ValueId> outputs;
  Structure input_structure, output_structure;
  std::vector<std::string> notes;  // decisions of tracing, for --explain
  // Whether a call may draw random numbers, so that two may differ.
  bool draws_random_numbers = false;
  // Whether LibTorch is to run all operators, also those that can be compiled.
  bool libtorch_only = false;
  // Makes a region that runs ops[i] for each i of `op_indices`, in order, in
  // LibTorch. `inputs` are the values that it reads, `outputs` the values that
  // it must compute.
  std::function<std::unique_ptr<FallbackRegion>(
      const std::vector<int>& op_indices, const std::vector<ValueId>& inputs,
      const std::vector<ValueId>& outputs)>
      make_fallback_region;
  // Has the regions that were made, which run these operators alone, forget
  // the rest of the trace, such as weights. None can be made afterwards.
  std::function<void(const std::vector<int>& op_indices)> keep_only;
  // The parts of control flow in these regions that can be compiled
  // (outlined_program.h), in the order of the trace.
  std::vector<std::shared_ptr<OutlinedProgram>> outlined;
  // Where regions made from now on run.
  std::shared_ptr<RegionPlace> region_place;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_TRACE_H_
