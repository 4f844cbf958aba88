// For tests of the interpreter: runs traces in LibTorch and compares them with
// the model itself.
#ifndef AITUNE_FRONTEND_TRACING_TRACE_TEST_UTIL_H_
#define AITUNE_FRONTEND_TRACING_TRACE_TEST_UTIL_H_

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/trace/trace.h"
#include "frontend/tracing/build_trace.h"

namespace aitune::frontend {

// All operators of the trace as one LibTorch region, run on these inputs. The
// sizes of the symbols are read from the inputs.
absl::StatusOr<c10::IValue> RunTrace(const Trace& trace,
                                     const ValueList& inputs);

// Whether two results have the same structure, dtypes, sizes and (nearly) the
// same elements; the difference in words, empty if there is none.
std::string Difference(const c10::IValue& actual, const c10::IValue& expected);

// Traces `source` for these specifications (parsed).
absl::StatusOr<Trace> TraceSource(const std::string& source,
                                  const std::vector<std::string>& specs,
                                  const TraceOptions& options = {});

// Traces `source` and compares the trace with eager, the result and what is
// left of the arguments, for several inputs of the specified kinds: every
// combination of the bounds of the trace's symbols, and values drawn anew.
// Returns the trace; the error says what differs.
absl::StatusOr<Trace> TraceAndCompare(const std::string& source,
                                      const std::vector<std::string>& specs,
                                      const TraceOptions& options = {});
absl::StatusOr<Trace> TraceAndCompare(const Model& model,
                                      const std::vector<std::string>& specs,
                                      const TraceOptions& options = {});

// The names of the trace's operators, in order, such as "aten::add.Tensor".
std::vector<std::string> OpNames(const Trace& trace);

// How many operators must be run by LibTorch.
int FallbackCount(const Trace& trace);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_TRACE_TEST_UTIL_H_
