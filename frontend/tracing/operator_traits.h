// Properties of operators that the interpreter must know and that their schemas
// do not say. All functions are thread-safe. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_OPERATOR_TRAITS_H_
#define AITUNE_FRONTEND_TRACING_OPERATOR_TRAITS_H_

#include <ATen/core/function_schema.h>
#include <torch/csrc/jit/ir/ir.h>

#include <optional>
#include <string>
#include <vector>

#include "frontend/tracing/probed_value.h"

namespace aitune::frontend {

// Where `node` is in the model's source, such as "model.py:12"; empty if that
// is not known.
std::string LocationOf(const torch::jit::Node& node);

// Whether the operator asks for sizes, dtypes and the like: its result does not
// depend on elements.
bool IsMetadataQuery(const c10::FunctionSchema& schema);

// Whether it is a metadata query whose result does not depend on sizes either.
bool IsTypeQuery(const c10::FunctionSchema& schema);

// Whether it is a metadata query whose result is the same for every memory
// layout.
bool IsSizeQuery(const c10::FunctionSchema& schema);

// Whether it gives a view of its first argument, and raises where the strides
// of that one allow none.
bool NeedsView(const c10::FunctionSchema& schema);

// Whether its result has the sizes and dtype of its first argument, whatever
// the other arguments are.
bool KeepsSizesOfSelf(const c10::FunctionSchema& schema);

// Whether the sizes of its results depend on the elements of these arguments
// that depend on data.
bool HasDataDependentSizes(const c10::FunctionSchema& schema,
                           const std::vector<ProbedRef>& arguments);
// The same with elements that follow from sizes, too.
bool HasSizesOfElements(const c10::FunctionSchema& schema,
                        const std::vector<ProbedRef>& arguments);

// Whether it draws random numbers with these arguments, so that two runs may
// differ (dropout in eval mode does not).
bool IsRandom(const c10::FunctionSchema& schema,
              const std::vector<ProbedRef>& arguments);
// Whether it may, by the constants among its arguments.
bool IsRandom(const torch::jit::Node& node);

// Whether an operator of the program, or of its branches and loops, may.
bool DrawsRandomNumbers(const torch::jit::Block& block);

// Whether it writes to one of its tensors.
bool WritesTensors(const c10::FunctionSchema& schema);

// Whether it writes with these arguments to one of them that its schema does
// not mark as written.
bool WritesHidden(const c10::FunctionSchema& schema,
                  const std::vector<ProbedRef>& arguments);

// Whether it takes the number of its arguments as one more behind them, as
// most operators do that take any number of them.
bool TakesArgumentCount(const c10::FunctionSchema& schema);

// The position of the argument with this name; not set if there is none.
std::optional<size_t> FindArgument(const c10::FunctionSchema& schema,
                                   const std::string& name);

// The numbers by which the operator divides sizes: its strides or steps.
std::vector<int64_t> SizeDivisors(const c10::FunctionSchema& schema,
                                  const std::vector<ProbedRef>& arguments);

// Whether this operator gives a view of its tensor for some sizes and strides,
// and a copy for others.
bool GivesViewOrCopy(const std::string& name);

// Whether opaque numbers among these arguments decide about the dtype or rank
// of the results, as x.to(number) and x.squeeze(number) do.
bool HasDataDependentType(const c10::FunctionSchema& schema,
                          const std::vector<ProbedRef>& arguments);

// Whether values of this static type may be None, or of several types.
bool MayBeOfSeveralTypes(const c10::Type& type);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_OPERATOR_TRAITS_H_
