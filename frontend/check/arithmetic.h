// Finds the narrowest dtype that each output of a program is computed in. A
// model in float16 that ends with a cast to float32 has float32 outputs with
// the errors of float16: the tolerance of an output must follow from the
// arithmetic on the way to it, not from its own dtype.
#ifndef AITUNE_FRONTEND_CHECK_ARITHMETIC_H_
#define AITUNE_FRONTEND_CHECK_ARITHMETIC_H_

#include <optional>
#include <vector>

#include "frontend/trace/trace.h"

namespace aitune::frontend {

// For each output of the trace, in order: the floating-point dtype with the
// fewest significant bits that a value is rounded to on any path from an input
// or a constant to the output; not set when nothing is rounded. Inputs and the
// model's own tensors are exact whatever their dtype. What was computed from
// sizes alone while the program was traced counts with its dtype, and an output
// in float64 as float32, in which LibTorch makes numbers unless told otherwise.
// Operators that only move, select, negate or widen elements do not round.
// Paths through integers count: an index that was found among float16 scores
// has their errors. An operator whose results have unknown dtypes counts with
// the dtypes of its arguments. Thread-safe.
std::vector<std::optional<DataType>> ArithmeticOfOutputs(const Trace& trace);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECK_ARITHMETIC_H_
