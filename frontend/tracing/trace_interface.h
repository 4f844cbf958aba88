// The inputs and outputs of a trace: the arguments of forward as values of the
// interpreter, and its result as the trace's outputs. Internal: includes
// LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_TRACE_INTERFACE_H_
#define AITUNE_FRONTEND_TRACING_TRACE_INTERFACE_H_

#include <ATen/core/ivalue.h>

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/prepare.h"
#include "frontend/trace/trace.h"
#include "frontend/tracing/interpreter.h"

namespace aitune::frontend {

// What one attempt at a trace is made for.
struct Attempt {
  std::vector<TraceSymbol> symbols;  // the dynamic ones
  std::vector<std::vector<int>>
      axis_symbols;  // of the flattened tensor inputs; -1: fixed
  std::vector<std::vector<c10::IValue>> inputs;  // one list a probe
};

// Values of forward's arguments in all probes: self, inputs, defaults. Makes
// the inputs the trace's, with their structure. kInvalidArgument for an input
// that is no dense tensor on the CPU.
absl::StatusOr<std::vector<ProbedRef>> BuildArguments(
    const Model& model, const PreparedGraph& prepared, const Attempt& attempt,
    Interpreter& interpreter);

// Makes the program's result, `value`, the trace's outputs, and describes it in
// `structure`. kUnimplemented for an object of the program's own classes.
absl::Status BuildOutput(Interpreter& interpreter, const ProbedRef& value,
                         Structure* structure);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_TRACE_INTERFACE_H_
