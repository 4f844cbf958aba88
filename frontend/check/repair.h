// The comparison with eager of a model that can be built again: where it
// differs, what differs is built again with the inputs that showed it, so that
// wrong parts are found and replaced. `aitune tune` and the tuning of modules
// are built on it.
#ifndef AITUNE_FRONTEND_CHECK_REPAIR_H_
#define AITUNE_FRONTEND_CHECK_REPAIR_H_

#include <functional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/check/check.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_inputs.h"
#include "frontend/values/value_list.h"

namespace aitune::frontend {

// Builds again what gave a wrong result for these arguments, which are on the
// CPU. Whether something of it was replaced.
using RepairFunction =
    std::function<absl::StatusOr<bool>(const ValueList& arguments)>;

// As CheckAgainstEager. While cases fail, a few times: calls `repair` with one
// of them, and compares all again. CheckReport::repairs says what came of it.
// An error that ours misses is not repaired: no kernel gave a wrong result.
CheckReport CheckAndRepair(const RunFunction& ours, const Model& model,
                           absl::Span<const InputCase> cases,
                           const CheckOptions& options,
                           const RepairFunction& repair);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECK_REPAIR_H_
