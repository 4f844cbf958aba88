// Runs operators in probes that a CPU runs slowly, or not at all, as they are.
//
// A probe runs the model's operators to find the sizes and dtypes of their
// results. Elements matter only if control flow depends on them; LibTorch then
// runs that part of the model, so their values are not used. Contractions in
// half precision are slow on CPUs (minutes for a large batch), so their results
// are computed with less work; and LibTorch has operators of some dtypes for
// GPUs alone (nms and Fourier transforms in half precision, histograms of
// integers), which a CPU computes in a wider one.
#ifndef AITUNE_FRONTEND_TRACING_PROBE_RUN_H_
#define AITUNE_FRONTEND_TRACING_PROBE_RUN_H_

#include <ATen/core/TensorBody.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

namespace aitune::frontend {

// The call as text, for errors: "aten::view(float32[5,3], [int64=2, ...])". Of
// more than six arguments the first six.
std::string DescribeCall(const c10::FunctionSchema& schema,
                         const std::vector<c10::IValue>& arguments);

// Whether this call is a contraction of large half-precision tensors.
bool IsSlowOnCpu(const c10::FunctionSchema& schema,
                 const std::vector<c10::IValue>& stack);

// Zeros in place of the result of aten::scaled_dot_product_attention.
at::Tensor ZerosOfAttention(const at::Tensor& query, const at::Tensor& value);

// Runs a call, given by its schema, its implementation and its arguments on the
// stack, without most of its arithmetic: the result is zeros, or a convolution
// is computed in float32. Throws as `run`.
void RunForShapes(const c10::FunctionSchema& schema,
                  const std::function<void(std::vector<c10::IValue>&)>& run,
                  std::vector<c10::IValue>& stack);

// Adds the tensors in `value`, which may be nested.
void AddTensors(const c10::IValue& value,
                std::unordered_set<const at::TensorImpl*>& tensors);

// Runs a call in a probe, with the elements of the tensors `made_up` made up.
// Where it raises for them, which it need not do for those of the program's
// users (integers are divided by 0, an index is beyond a table, a matrix has no
// Cholesky factor), it runs with others: divisors that are not 0, then elements
// that most operators take. So whether it raises depends on sizes and dtypes,
// as far as such elements are known. `run` must not write to its arguments.
// Throws what `run` throws for the elements that are given.
void RunWithMadeUpElements(
    const std::unordered_set<const at::TensorImpl*>& made_up,
    const std::function<void(std::vector<c10::IValue>&)>& run,
    std::vector<c10::IValue>& stack);

// Runs a call that writes to none of its arguments. If LibTorch has no kernel
// of it for a dtype on CPUs, a wider one gives results that are rounded to it:
// float32 for half precision, float64 for integers and booleans. Throws as
// `run`.
void RunOrWiden(const std::function<void(std::vector<c10::IValue>&)>& run,
                std::vector<c10::IValue>& stack);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_PROBE_RUN_H_
