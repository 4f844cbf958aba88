// The narrowest dtype that the outputs of a program are computed in. A model in
// float16 that ends with a cast to float32 has float32 outputs with the errors
// of float16: what an output is held to follows from the arithmetic on the way
// to it, not from its own dtype.
#ifndef AITUNE_FRONTEND_CHECK_ARITHMETIC_H_
#define AITUNE_FRONTEND_CHECK_ARITHMETIC_H_

#include <optional>
#include <vector>

#include "frontend/trace/trace.h"

namespace aitune::frontend {

// One an output of the trace, in order: the floating-point dtype of the fewest
// significant bits that a value is rounded to on any path from an input or a
// constant to the output; nothing where nothing is rounded. Inputs and
// constants are exact whatever their dtype, and operators that only move
// elements, pick one of them, negate or widen them round nothing. Paths through
// integers count: an index that was found among float16 scores has their
// errors. Of an operator with results of unknown dtypes the arguments' dtypes
// are taken.
std::vector<std::optional<DataType>> ArithmeticOfOutputs(const Trace& trace);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECK_ARITHMETIC_H_
