// Which values of a trace a call reads.
#ifndef AITUNE_FRONTEND_TRACE_ARGUMENT_VALUES_H_
#define AITUNE_FRONTEND_TRACE_ARGUMENT_VALUES_H_

#include <variant>
#include <vector>

#include "frontend/trace/trace.h"

namespace aitune::frontend {

// Calls `function` with each id that `argument` holds; -1 (None) is left out.
template <typename Function>
void ForEachValue(const Argument& argument, Function function) {
  if (const ValueId* id = std::get_if<ValueId>(&argument)) {
    if (*id >= 0) function(*id);
  } else if (const auto* ids = std::get_if<std::vector<ValueId>>(&argument)) {
    for (ValueId id : *ids) {
      if (id >= 0) function(id);
    }
  }
}

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_ARGUMENT_VALUES_H_
