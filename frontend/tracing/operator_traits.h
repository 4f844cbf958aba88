// What the interpreter must know of an operator beyond its schema.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_OPERATOR_TRAITS_H_
#define AITUNE_FRONTEND_TRACING_OPERATOR_TRAITS_H_

#include <ATen/core/function_schema.h>

#include <optional>
#include <string>
#include <vector>

#include "frontend/tracing/probed_value.h"

namespace aitune::frontend {

// Asks for sizes, dtypes and the like: the answer depends on no element.
bool IsMetadataQuery(const c10::FunctionSchema& schema);

// A metadata query that even a tensor of unknown sizes answers.
bool IsTypeQuery(const c10::FunctionSchema& schema);

// A metadata query whose answer is the same for every memory layout.
bool IsSizeQuery(const c10::FunctionSchema& schema);

// Its result has the sizes and dtype of its first argument, whatever the others
// are.
bool KeepsSizesOfSelf(const c10::FunctionSchema& schema);

// The sizes of its results depend on the elements of these arguments.
bool HasDataDependentSizes(const c10::FunctionSchema& schema,
                           const std::vector<ProbedRef>& arguments);

// Two runs may differ: draws random numbers, with these arguments (dropout in
// eval mode does not).
bool IsRandom(const c10::FunctionSchema& schema,
              const std::vector<ProbedRef>& arguments);

// Writes to one of its tensors.
bool WritesTensors(const c10::FunctionSchema& schema);

// The position of an argument, nothing if there is none of this name.
std::optional<size_t> FindArgument(const c10::FunctionSchema& schema,
                                   const std::string& name);

// What an operator divides sizes by when it slides or steps: its strides.
std::vector<int64_t> SizeDivisors(const c10::FunctionSchema& schema,
                                  const std::vector<ProbedRef>& arguments);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_OPERATOR_TRAITS_H_
