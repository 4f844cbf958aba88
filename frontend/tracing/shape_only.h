// Probing without the arithmetic.
//
// A probe runs the model's operators for the sizes and dtypes of their results;
// elements matter only where they decide control flow, which values of
// contractions do not in practice, and where they do LibTorch runs that part.
// Contractions in half precision are slow on CPUs (a large batch would take
// minutes): these get by with less.
#ifndef AITUNE_FRONTEND_TRACING_SHAPE_ONLY_H_
#define AITUNE_FRONTEND_TRACING_SHAPE_ONLY_H_

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <functional>
#include <vector>

namespace aitune::frontend {

// Whether this call is a contraction of large half-precision tensors.
bool IsSlowOnCpu(const c10::FunctionSchema& schema,
                 const std::vector<c10::IValue>& stack);

// Runs a call (its schema, its implementation, its arguments) without most of
// its arithmetic: zeros, or a convolution in float32. Throws as `run`.
void RunForShapes(const c10::FunctionSchema& schema,
                  const std::function<void(std::vector<c10::IValue>&)>& run,
                  std::vector<c10::IValue>& stack);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_SHAPE_ONLY_H_
