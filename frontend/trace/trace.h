// A trace: the model as a flat list of functional operator calls with a shape
// for every tensor, the meeting point of the frontend's two halves.
//
// The LibTorch half (this folder) runs the TorchScript graph once per probe and
// records what it did; the MLIR half (frontend/importer) turns the record into
// the `ait` dialect. Plain data in between keeps torch/script.h and MLIR out of
// each other's translation units, and lets another reader (exported programs)
// produce the same record.
//
// What a trace promises: no mutation and no aliasing (in-place operators are
// functional ones), no control flow that could be decided at import, no Python
// containers but in `inputs` and `outputs`, every value that depends on no
// input data folded into a constant where its shape is static.
#ifndef AITUNE_FRONTEND_TRACE_TRACE_H_
#define AITUNE_FRONTEND_TRACE_TRACE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

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
  std::vector<SizeExpression> sizes;
};

// A value of the trace: a constant, a tensor of known rank, dtype and
// (symbolic) sizes, or an opaque LibTorch value.
struct TraceValue {
  enum class Kind { kTensor, kConstant, kOpaque };
  Kind kind = Kind::kTensor;
  TensorType type;         // kTensor and kConstant (static sizes)
  int32_t constant = -1;   // kConstant: index into Trace::constants
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
  std::string name;                         // schema name, such as "aten::add"
  std::string overload;                     // such as "Tensor"; empty if none
  std::vector<std::string> argument_names;  // of the schema, in order
  std::vector<Argument> arguments;          // one for each, defaults filled in
  std::vector<ValueId>
      results;           // lists flattened; -1: undefined, nobody reads it
  std::string location;  // "model.py:12" style TorchScript source location
  std::string scope;     // the submodule, such as "encoder.layer.3.attention"
  // Set when the trace already knows that LibTorch must run this one (control
  // flow on data, an operator with a data-dependent shape, no schema): why.
  std::string must_fall_back;
};

struct TraceSymbol {
  std::string name;  // "s0"
  int64_t min = 1, max = 1;
  int32_t input = 0,
          axis = 0;  // flattened tensor input and axis it is read from
};

// The nesting of inputs or outputs: tensors (in outputs: opaque values too) are
// numbered in order of a depth-first walk; other leaves are constants that the
// trace was made for.
struct Structure {
  enum class Kind { kTensor, kNone, kConstant, kTuple, kList, kDict };
  Kind kind = Kind::kTensor;
  std::vector<Structure> children;
  std::vector<std::string> keys;  // kDict: printed keys, one a child
  std::shared_ptr<void>
      constant;  // kConstant: an IValue; containers: LibTorch's type and keys
  std::string type_name;  // TorchScript's name of the type
};

struct Trace {
  std::vector<TraceSymbol> symbols;
  // What sizes must fulfil beside the symbols' ranges: another trace is needed
  // for others.
  std::vector<SizeConstraint> constraints;
  std::vector<TraceValue> values;
  std::vector<TraceOp> ops;
  std::vector<ConstantTensor> constants;
  std::vector<ValueId> inputs;  // flattened tensor inputs
  std::vector<ValueId>
      outputs;  // flattened outputs: tensors, constants or opaque values
  Structure input_structure, output_structure;
  std::vector<std::string> notes;  // decisions worth telling with --explain
  // Makes a region that runs ops[i] for each i of `op_indices`, in order, in
  // LibTorch. `inputs` are the values it reads, `outputs` those it must
  // produce.
  std::function<std::unique_ptr<FallbackRegion>(
      const std::vector<int>& op_indices, const std::vector<ValueId>& inputs,
      const std::vector<ValueId>& outputs)>
      make_fallback_region;
  // The GPU that regions made from now on run on; -1: the CPU.
  std::shared_ptr<int> fallback_gpu;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_TRACE_H_
