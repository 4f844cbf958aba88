// A trace as text, one operator a line: for --explain, tests and debugging.
#ifndef AITUNE_FRONTEND_TRACE_PRINT_TRACE_H_
#define AITUNE_FRONTEND_TRACE_PRINT_TRACE_H_

#include <string>

#include "frontend/trace/trace.h"

namespace aitune::frontend {

// For example
//   input %0: float32[s0, 3]
//   %2: float32[s0, 4] = aten::linear(%0, weight, None)
//   return %2
// Constants are printed by name, or as "constant" and their type.
std::string PrintTrace(const Trace& trace);

// "float32[s0, 3]".
std::string PrintType(const TensorType& type);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_PRINT_TRACE_H_
