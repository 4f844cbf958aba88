// Arguments by name, as Python's model(x, mask=m) gives them.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_KEYWORD_ARGUMENTS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_KEYWORD_ARGUMENTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/torchscript/model.h"
#include "frontend/values/value_list.h"

namespace aitune::frontend {

// The arguments of a call of `model` with `positional` and, for the parameter
// names[i], the i-th of `named`: in the order of the parameters, with the
// defaults of those between that were not given. Parameters after the last
// given one are left out. Kinds of calls that give the same parameters have the
// same arguments, however they name them. kInvalidArgument, with forward's
// signature, for a name that there is not or that is given twice, and for a
// parameter without a default that is missing. Thread-safe.
absl::StatusOr<ValueList> WithKeywordArguments(
    const Model& model, const ValueList& positional,
    absl::Span<const std::string> names, const ValueList& named);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_KEYWORD_ARGUMENTS_H_
