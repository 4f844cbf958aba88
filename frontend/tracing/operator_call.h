// What the parts of Interpreter::Invoke (operator_call.cc, recorded_call.cc)
// tell one another about a call. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_OPERATOR_CALL_H_
#define AITUNE_FRONTEND_TRACING_OPERATOR_CALL_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "frontend/trace/recorded_op.h"
#include "frontend/tracing/invocation.h"
#include "frontend/tracing/probed_value.h"
#include "frontend/tracing/size_function.h"

namespace aitune::frontend {

struct OperatorCall {
  explicit OperatorCall(const Invocation& given) : call(given) {
    traits.call = &call;
  }
  OperatorCall(const OperatorCall&) = delete;
  OperatorCall& operator=(const OperatorCall&) = delete;

  Invocation call;  // as it runs in the probes
  ResultTraits traits;
  // Whether `call` has autocast's arguments for the CPU in place of those for a
  // GPU, and these in place of those.
  bool swaps_devices = false;
  // Whether the results depend on an opaque value.
  bool opaque = false;
  // Whether the dtype, rank or kind of an argument depends on data.
  bool varies = false;
  std::string must_fall_back;  // TraceOp::must_fall_back, if known before

  // What the call gives in each probe.
  std::vector<std::vector<c10::IValue>> executed;
  bool gives_tensors = false;  // whether that has tensors, or lists of them
  // Of results that depend on sizes alone: each as a function of these, null
  // where that is not known. Empty for other results.
  std::vector<SizeFunctionRef> functions;
  // Whether the call gathers from a tensor of the model's or the caller's that
  // is written later.
  bool is_overwritten = false;

  std::vector<ProbedRef> results;
  std::vector<ResultTemplate> templates;  // the recipes of the results

  bool is_uniform() const { return traits.uniform_arguments; }
  bool has_tensor_first() const {
    return !call.arguments.empty() && call.arguments[0]->IsTensor();
  }
  bool has_typed_tensor_first() const {
    return has_tensor_first() && call.arguments[0]->has_type;
  }
};

// Whether it is a cast that autocast makes where its flags say so.
bool IsAutocast(const c10::FunctionSchema& schema);

// Gives autocast's operators the flag and the dtype for the CPU in place of
// those for a GPU, and these in place of those.
template <typename Argument>
void SwapDevicesOfAutocast(std::vector<Argument>& arguments) {
  for (size_t i = 1; i + 1 < arguments.size(); i += 2)
    std::swap(arguments[i], arguments[i + 1]);
}

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_OPERATOR_CALL_H_
