// What a decision by sizes says of them, as constraints.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_SIZE_FORMS_H_
#define AITUNE_FRONTEND_TRACING_SIZE_FORMS_H_

#include <ATen/core/ivalue.h>

#include <vector>

#include "frontend/tracing/size_function.h"
#include "runtime/tensor/size_constraint.h"

namespace aitune::frontend {

// Constraints that all hold only where the value of `function` is `expected`;
// none if it is no comparison of formulas. `of_lists`: whether comparisons of
// lists of formulas count.
std::vector<SizeConstraint> FormsOf(const SizeFunction& function,
                                    const c10::IValue& expected, bool of_lists);

// Whether the function is made of sums, differences and products of sizes
// alone: what is right at many sizes is then right at all. Quotients, what is
// rounded, compared, counted or looked up may differ at any size.
bool IsSmooth(const SizeFunction& function);

// Whether the function tells how a tensor's elements lie, as is_contiguous()
// and stride(-1) == 1 do: it is the same for all sizes but few least ones.
bool AsksForLayout(const SizeFunction& function);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_SIZE_FORMS_H_
