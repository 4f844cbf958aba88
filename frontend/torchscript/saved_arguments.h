// The elements of the arguments that calls write to: a cache of keys and values
// that the caller keeps, a position that each call increments. Code that
// repeats a call, to time it for example, puts them back before each.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_SAVED_ARGUMENTS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_SAVED_ARGUMENTS_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/torchscript/input_queries.h"
#include "frontend/torchscript/model.h"
#include "frontend/values/value_list.h"

namespace aitune::frontend {

// Copies the tensors of `arguments` that calls of the program which `queries`
// are of may write to. The result puts their elements back into their memory,
// any number of times, with LibTorch's errors as kInternal; on a GPU on the
// current stream. Null if the program writes to none of them. Lists, dicts and
// the sizes of tensors stay as calls leave them. kInternal with LibTorch's
// text.
absl::StatusOr<std::function<absl::Status()>> SaveArguments(
    const InputQueries& queries, const ValueList& arguments);

// The same for FindInputQueries of the model.
absl::StatusOr<std::function<absl::Status()>> SaveArguments(
    const Model& model, const ValueList& arguments);

// One function that calls both, either of which may be null, and gives the
// first error; null where both are.
std::function<absl::Status()> InTurn(std::function<absl::Status()> first,
                                     std::function<absl::Status()> second);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_SAVED_ARGUMENTS_H_
