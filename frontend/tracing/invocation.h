// One call of an operator with a schema, and what is known of its results from
// its arguments. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_INVOCATION_H_
#define AITUNE_FRONTEND_TRACING_INVOCATION_H_

#include <ATen/core/function_schema.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/trace/recorded_op.h"
#include "frontend/trace/trace.h"
#include "frontend/tracing/probed_value.h"

namespace aitune::frontend {

struct KnownShapes;

// One call.
struct Invocation {
  const c10::FunctionSchema* schema = nullptr;
  RecordedFunction run;
  std::vector<ProbedRef> arguments;
  size_t result_count = 0;
};

// What is known of a call's results before they are looked at.
struct ResultTraits {
  bool tainted = false;  // whether they depend on input data
  bool emit = false;     // whether the trace gets an operator
  // Whether the result is a view of the model's own tensor, which is derived
  // where it is read.
  bool derived_later = false;
  // Sizes of the results at other points than the probes, null where none
  // are known, and the number of the result that is looked at.
  KnownShapes* known_shapes = nullptr;
  size_t result = 0;
  std::string opaque;              // why results that depend on data are opaque
  bool uniform_arguments = false;  // whether all arguments are uniform
  // The sizes from which the results' sizes may have been computed
  // (SizeFitter::Fit).
  std::vector<SizeExpression> sources;
  // The axis that the call slices, and its new size.
  std::optional<std::pair<int64_t, SizeExpression>> sliced;
  // Sizes of the result that arguments say, by axes.
  std::map<int64_t, SizeExpression> told;
  std::vector<int64_t> strides;  // the strides of windows, for the same
  const Invocation* call = nullptr;
  std::vector<ProbedRef> tensors;  // the tensors among the arguments
  // The opaque tensors with known sizes among the arguments.
  std::vector<ProbedRef> opaque_tensors;
  std::vector<ArgumentTemplate> templates;  // the recipes of the arguments
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_INVOCATION_H_
