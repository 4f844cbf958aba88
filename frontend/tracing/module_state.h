// Attributes of modules that a program sets while it runs: for example a flag
// that a warning was given, or anchors converted to the dtype of the input. A
// trace records one call. It is right for all calls if the attributes have the
// same values after a call as before, or if the difference changes nothing that
// is computed. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_MODULE_STATE_H_
#define AITUNE_FRONTEND_TRACING_MODULE_STATE_H_

#include <ATen/core/ivalue.h>

#include <map>
#include <string>
#include <utility>

#include "frontend/trace/trace.h"

namespace aitune::frontend {

// The values of attributes, by object and name, that differ or may differ from
// those in the modules.
using ModuleState =
    std::map<std::pair<const c10::ivalue::Object*, std::string>, c10::IValue>;

// The name of an attribute of `after` whose value was different before; empty
// if there is none. Tensors are compared by their elements.
std::string ChangedAttribute(const ModuleState& before,
                             const ModuleState& after);

// Whether two traces of one model compute the same.
bool ComputeTheSame(const Trace& a, const Trace& b);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_MODULE_STATE_H_
