// Attributes of modules that a program sets while it runs: a flag that a
// warning was given, anchors converted to the dtype of the input. A trace holds
// one call; it stands for all calls when what the attributes hold after a call
// is what they held before, or makes no difference. Internal: includes
// LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_MODULE_STATE_H_
#define AITUNE_FRONTEND_TRACING_MODULE_STATE_H_

#include <ATen/core/ivalue.h>

#include <map>
#include <string>
#include <utility>

#include "frontend/trace/trace.h"

namespace aitune::frontend {

// Of the attributes that are not, or may not be, what the modules hold.
using ModuleState =
    std::map<std::pair<const c10::ivalue::Object*, std::string>, c10::IValue>;

// The name of an attribute of `after` that was another before; empty if there
// is none. Tensors are compared by their elements.
std::string ChangedAttribute(const ModuleState& before,
                             const ModuleState& after);

// Whether two traces of one model compute the same.
bool ComputeTheSame(const Trace& a, const Trace& b);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_MODULE_STATE_H_
