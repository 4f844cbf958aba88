// Attributes of modules that a program sets while it runs: for example a flag
// that a warning was given, or anchors converted to the dtype of the input. A
// trace records one call. It is right for all calls if the attributes have the
// same values after a call as before, or if no call computes anything from the
// difference, whatever its sizes. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_MODULE_STATE_H_
#define AITUNE_FRONTEND_TRACING_MODULE_STATE_H_

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

#include <map>
#include <set>
#include <string>
#include <utility>

#include "frontend/trace/trace.h"

namespace aitune::frontend {

// The values of attributes, by object and name, that differ or may differ from
// those in the modules.
using ModuleState =
    std::map<std::pair<const c10::ivalue::Object*, std::string>, c10::IValue>;

// The names of the attributes of `after` whose values were different before.
// Tensors are compared by their elements.
std::set<std::string> ChangedAttributes(const ModuleState& before,
                                        const ModuleState& after);

// Whether a call may compute something from the value that an attribute of this
// name had before the call. It does not where it sets the attribute first, and
// where the value only decides about messages and about setting attributes
// among `changed`.
bool MayReadBefore(torch::jit::Graph& graph, const std::string& name,
                   const std::set<std::string>& changed);

// Whether two traces of one model compute the same.
bool ComputeTheSame(const Trace& a, const Trace& b);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_MODULE_STATE_H_
