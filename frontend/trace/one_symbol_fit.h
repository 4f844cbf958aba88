// Formulas of one size that divide: what a program computes of a length in
// floating point, and what grows beyond a bound only. size_fit.h has those that
// an operator makes of its arguments' sizes.
#ifndef AITUNE_FRONTEND_TRACE_ONE_SYMBOL_FIT_H_
#define AITUNE_FRONTEND_TRACE_ONE_SYMBOL_FIT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "frontend/trace/size_region.h"
#include "runtime/tensor/size_expression.h"

namespace aitune::frontend {

// (a * symbol + b) floordiv d, times a number and plus multiples of the symbol,
// with these values at these sizes of it, ascending: what the program computes
// in floating point, such as int(n * 0.3), and how far a size is from a
// multiple of another. Not set where no small d gives them, or where there are
// fewer than 8 sizes.
std::optional<SizeExpression> FitRemainder(int symbol,
                                           const std::vector<int64_t>& sizes,
                                           const std::vector<int64_t>& values);

// As FitRemainder, for as many sizes around number `place` as have one formula:
// max(n - 40, 0) has one beyond 40.
std::optional<SizeExpression> FitAround(int symbol,
                                        const std::vector<int64_t>& sizes,
                                        const std::vector<int64_t>& values,
                                        size_t place);

// As FitRemainder, of the first of `symbols` of which alone `values`, one for
// each of `points`, may be functions.
std::optional<SizeExpression> FitOneSymbol(const std::vector<int>& symbols,
                                           const std::vector<SizePoint>& points,
                                           const std::vector<int64_t>& values);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_ONE_SYMBOL_FIT_H_
