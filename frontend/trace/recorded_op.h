// What is needed to run an operator of the trace again in LibTorch: its
// implementation and its arguments as LibTorch has them, which the plain data
// of trace.h cannot hold. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACE_RECORDED_OP_H_
#define AITUNE_FRONTEND_TRACE_RECORDED_OP_H_

#include <ATen/core/TensorBody.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "frontend/trace/trace.h"

namespace aitune::frontend {

// A recipe for an argument: a fixed IValue, a value of the trace, a size, or a
// container of recipes.
struct ArgumentTemplate {
  enum class Kind { kFixed, kValue, kSize, kList, kTuple, kDict };
  Kind kind = Kind::kFixed;
  c10::IValue fixed;    // kFixed
  ValueId value = -1;   // kValue
  SizeExpression size;  // kSize
  // The type of a kList's elements, of a kDict, or of a named kTuple.
  c10::TypePtr type;
  // The elements of a kList or kTuple, the values of a kDict.
  std::vector<ArgumentTemplate> children;
  std::vector<c10::IValue> keys;  // the keys of a kDict

  static ArgumentTemplate Fixed(c10::IValue value);
  static ArgumentTemplate Value(ValueId value);
  // A constant size becomes a fixed integer.
  static ArgumentTemplate Size(SizeExpression size);
  static ArgumentTemplate IntList(const std::vector<SizeExpression>& sizes);
};

// Which values of the trace a result, or the parts of a container, become.
struct ResultTemplate {
  enum class Kind { kValue, kContainer };
  Kind kind = Kind::kValue;
  ValueId value = -1;                    // kValue; -1: nobody reads it
  std::vector<ResultTemplate> children;  // the parts of a kContainer
};

// An operator's implementation. As jit::Operation, it takes its arguments from
// the end of a stack and puts its results in their place. Thread-safe.
using RecordedFunction = std::function<void(std::vector<c10::IValue>&)>;

struct RecordedProgram {
  RecordedFunction run;
  // Makes `run` for a GPU, where it names devices or holds tensors itself;
  // null: `run` computes where its arguments are.
  std::function<RecordedFunction(c10::Device)> on_device = nullptr;
  // In place of `run`: the model's own tensor, which the operator gives. In a
  // region on a GPU it gives RegionPlace::state's, and in one that is only
  // tried a copy. Not defined: `run` changes nothing outside.
  at::Tensor state = {};
  // In place of `run`: the operator gives its argument, an input of the model
  // that calls write; in a region that is only tried a copy.
  bool gives_input = false;
  // Whether results lie in memory of the model, which nobody writes before the
  // call ends; null: no. Known once the trace is complete.
  std::shared_ptr<const bool> lends_memory = nullptr;
};

struct RecordedOp {
  std::string name;  // for messages: "aten::add.Tensor at model.py:3"
  RecordedProgram program;
  std::vector<ArgumentTemplate> arguments;
  std::vector<ResultTemplate> results;
};

// The IValue that `recipe` describes. symbols[i] is the size of the symbol
// s`i`; `read` gives the value of a ValueId.
c10::IValue Materialize(const ArgumentTemplate& recipe,
                        absl::Span<const int64_t> symbols,
                        const std::function<c10::IValue(ValueId)>& read);

// The list, tuple or dict of `recipe` with these elements, which it takes.
c10::IValue MakeContainer(const ArgumentTemplate& recipe,
                          absl::Span<c10::IValue> elements);

// Appends each value of the trace that `recipe` reads.
void CollectValues(const ArgumentTemplate& recipe,
                   std::vector<ValueId>& values);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_RECORDED_OP_H_
