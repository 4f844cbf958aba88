// How LibTorch runs an operator of the trace again: what trace.h cannot hold.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACE_RECORDED_OP_H_
#define AITUNE_FRONTEND_TRACE_RECORDED_OP_H_

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <functional>
#include <string>
#include <vector>

#include "frontend/trace/trace.h"

namespace aitune::frontend {

// A recipe for an argument: a fixed IValue, a value of the trace, a size, or a
// container of recipes.
struct ArgumentTemplate {
  enum class Kind { kFixed, kValue, kSize, kList, kTuple, kDict };
  Kind kind = Kind::kFixed;
  c10::IValue fixed;
  ValueId value = -1;
  SizeExpression size;
  c10::TypePtr type;  // of a list's elements; of the dict; of a named tuple
  std::vector<ArgumentTemplate> children;  // a dict's values
  std::vector<c10::IValue> keys;           // of a dict

  static ArgumentTemplate Fixed(c10::IValue value);
  static ArgumentTemplate Value(ValueId value);
  // A constant size becomes a fixed integer.
  static ArgumentTemplate Size(SizeExpression size);
  static ArgumentTemplate IntList(const std::vector<SizeExpression>& sizes);
};

// Where the parts of a result go; -1: nobody reads it.
struct ResultTemplate {
  enum class Kind { kValue, kContainer };
  Kind kind = Kind::kValue;
  ValueId value = -1;
  std::vector<ResultTemplate> children;
};

// Runs on a stack as jit::Operation does. Thread-safe.
using RecordedFunction = std::function<void(std::vector<c10::IValue>&)>;

struct RecordedOp {
  std::string name;  // for messages: "aten::add.Tensor at model.py:3"
  RecordedFunction run;
  std::vector<ArgumentTemplate> arguments;
  std::vector<ResultTemplate> results;
};

// The IValue that `recipe` describes. `read` gives the value of a ValueId.
c10::IValue Materialize(const ArgumentTemplate& recipe,
                        absl::Span<const int64_t> symbols,
                        const std::function<c10::IValue(ValueId)>& read);

// Appends each value of the trace that `recipe` reads.
void CollectValues(const ArgumentTemplate& recipe,
                   std::vector<ValueId>& values);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_RECORDED_OP_H_
